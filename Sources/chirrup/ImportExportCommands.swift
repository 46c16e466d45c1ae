/// `chirrup import live-helper-chat` and `chirrup import intercom`: systems whose data come as
/// files.
import ArgumentParser
import DataRetention
import Directory

extension ImportCommand {
  private static let whatRunsDo = """
    All of it is read and checked before anything is imported. Ids are derived from the old ones, \
    so that another run imports only what is new, also after one that was interrupted; gateways \
    may run meanwhile. Rows that are changed or left out are counted by reason, with the ids of \
    the first ones.
    """

  struct LiveHelperChat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "live-helper-chat",
      abstract: "Import an export of a Live Helper Chat database.",
      discussion: """
        Operators, departments, subjects, canned messages, visitors, chats, messages and ratings, \
        also archived ones, from the file that config/live-helper-chat.sql writes. \(whatRunsDo)
        """)

    @OptionGroup var options: AdministrationOptions
    @OptionGroup var source: ImportOptions
    @Option(help: ArgumentHelp("The file of config/live-helper-chat.sql.", valueName: "file"))
    var from: String
    @Option(
      help: ArgumentHelp(
        "The field of a chat that has your site's own id of the visitor: the external id.",
        valueName: "field"))
    var identity: String?
    @Option(
      help: ArgumentHelp(
        "A name of this installation, if you import several into the workspace.",
        valueName: "name"))
    var installation = "default"

    func run() async throws {
      try await source.run(options) { storedData, workspace, since in
        let file = try LineFile(from, lineBytes: ImportFile.lineBytes)
        return try ConversationImport(
          storedData, workspace: workspace.id,
          fromLiveHelperChat: ImportFile(name: from, next: file.next), installation: installation,
          identity: identity, since: since, batch: source.batch, isRun: source.yes)
      }
    }
  }

  struct Intercom: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "intercom",
      abstract: "Import conversations that were downloaded from Intercom's REST API.",
      discussion: """
        Admins, teams, tags, macros, contacts, conversations with their parts, and ratings, from \
        the folder that config/intercom_download.py writes. \(whatRunsDo)
        """)

    @OptionGroup var options: AdministrationOptions
    @OptionGroup var source: ImportOptions
    @Option(help: ArgumentHelp("The folder of the download.", valueName: "folder"))
    var from: String
    @Option(
      help: ArgumentHelp(
        "A name of this Intercom workspace, if you import several into the workspace.",
        valueName: "name"))
    var installation = "default"

    func run() async throws {
      try await source.run(options) { storedData, workspace, since in
        let names = Set(try TextFile.names(in: from))
        let files = try IntercomFile.allCases.filter { names.contains($0.name) }.map { kind in
          let file = try LineFile("\(from)/\(kind.name)", lineBytes: ImportFile.lineBytes)
          return ImportFile(name: kind.name, next: file.next)
        }
        return try ConversationImport(
          storedData, workspace: workspace.id, fromIntercom: files, installation: installation,
          since: since, batch: source.batch, isRun: source.yes)
      }
    }
  }
}

/// `chirrup import chatwoot`.
import ArgumentParser
import DataRetention
import Directory
import Postgres

extension ImportCommand {
  struct Chatwoot: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "chatwoot",
      abstract: "Import an account of a Chatwoot database.",
      discussion: """
        Members, labels, canned responses, contacts, conversations, messages and ratings. \
        Chatwoot's database is read in one snapshot and not changed. Ids are derived from the old \
        ones, so that another run imports only what is new, also after one that was interrupted; \
        gateways may run meanwhile. Rows that are changed or left out are counted by reason, with \
        the ids of the first ones.
        """)

    @OptionGroup var options: AdministrationOptions
    @OptionGroup var source: ImportOptions
    @Option(
      help: ArgumentHelp(
        "Chatwoot's database, as a URL of libpq. A password is better in a file (~/.pgpass).",
        valueName: "url"))
    var from: String
    @Option(help: ArgumentHelp("The number of the Chatwoot account.", valueName: "number"))
    var account: Int64

    func run() async throws {
      try await source.run(options) { storedData, workspace, since in
        let chatwoot: BlockingConnection
        do {
          chatwoot = try BlockingConnection(from)
        } catch {
          throw CommandFailure("the Chatwoot database does not answer: \(error)")
        }
        return try ConversationImport(
          storedData, workspace: workspace.id, from: chatwoot, account: account, since: since,
          batch: source.batch, isRun: source.yes)
      }
    }
  }
}

/// `chirrup import`, `retention`, `visitor` and `epoch`: the administration of conversations. A
/// command that cannot be undone only prints what it would do, unless `--yes` is given.
import ArgumentParser
import DataRetention
import Directory
import Kernel
import Postgres
import Primitives

extension AdministrationOptions {
  /// Like `run`, but fails if migrations are pending.
  func runOnSchema(
    as user: Database.User = .gateway,
    _ body: (StoredData, BlockingConnection, CommandOutput) throws -> Void
  ) async throws {
    try await run(as: user) { connection, output in
      try Database.checkSchema(connection)
      try body(StoredData(connection), connection, output)
    }
  }
}

let needsConfirmation = "nothing was changed; run it again with --yes to do it"

struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Import the conversations of another system.",
    subcommands: [Line.self, Chatwoot.self, LiveHelperChat.self, Intercom.self])

  struct Line: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "line-oa",
      abstract:
        "Import users and messages of a LINE official-account back end in the same database.",
      discussion: """
        They become visitors, sessions and messages. The old tables are not changed, except that \
        settings, intents and replies without a workspace are assigned to this one. Ids are \
        derived from the old ones, so that another run imports only what is new. Rows that are \
        changed or left out, because they lack a user, a time or a known type, are counted by \
        reason and written to a file.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Option(
      help: ArgumentHelp(
        "A new file for rows that are changed or left out (default: line-oa-rows-<time>.jsonl).",
        valueName: "file"))
    var rowsFile: String?
    @Flag(help: "Import; without this, only print the numbers.") var yes = false

    func run() async throws {
      try await options.runOnSchema(as: .owner) { storedData, connection, output in
        let workspace = try connection.workspace(named: workspace)
        let line = try LineImport(storedData, workspace: workspace.id)
        try reportOddRows(line, output)
        let summary = yes ? try line.run(report: output.report) : try line.plan()
        output.result(
          "\(yes ? "imported" : "would import") \(summary.visitors) visitors, "
            + "\(summary.sessions) sessions, \(summary.messages) messages, "
            + "\(summary.friendEvents) follow events, and \(summary.settings) settings, intents "
            + "and replies",
          [
            ("done", .bool(yes)), ("visitors", .number(summary.visitors)),
            ("sessions", .number(summary.sessions)), ("messages", .number(summary.messages)),
            ("friend_events", .number(summary.friendEvents)),
            ("settings", .number(summary.settings)),
          ])
        if !yes { output.note(needsConfirmation) }
      }
    }

    /// Prints the reasons and counts, and with --yes writes the rows before anything is imported.
    private func reportOddRows(_ line: LineImport, _ output: CommandOutput) throws {
      let odd = try line.oddRows()
      for item in odd {
        output.result(
          "\(item.count) \(item.table) \(item.reason)",
          [
            ("table", .text(item.table)), ("reason", .text(item.reason)),
            ("rows", .number(item.count)),
          ])
      }
      guard yes, !odd.isEmpty else { return }
      let time = "\(SystemClock.wallTime())".filter { $0.isNumber || $0 == "T" || $0 == "Z" }
      var file = try NewTextFile(rowsFile ?? "line-oa-rows-\(time).jsonl")
      try line.exportOddRows { try file.write($0 + "\n") }
      try file.finish()
      output.note("these rows are in \(file.path)", [("rows_file", .text(file.path))])
    }
  }
}

struct RetentionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retention",
    abstract: "Delete conversations that are older than their retention period.",
    discussion: """
      Deletes closed and deleted sessions without a message in the last --days days, whole and \
      in batches, and visitors without remaining sessions. The gateway may keep running. Writes \
      one line per workspace to the audit log.
      """)

  @OptionGroup var options: AdministrationOptions
  @Option(help: ArgumentHelp("The retention period, 1 to 36500 days.", valueName: "days")) var days:
    Int
  @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name")) var workspace: String?
  @Flag(help: "Delete; without this, only print the numbers.") var yes = false

  func validate() throws {
    guard (1...36_500).contains(days) else { throw ValidationError("--days must be 1 to 36500") }
  }

  func run() async throws {
    try await options.runOnSchema { storedData, connection, output in
      let only = try workspace.map { try connection.workspace(named: $0).id }
      let items =
        yes
        ? try storedData.removeExpired(days: days, workspace: only, report: output.report)
        : try storedData.expired(days: days, workspace: only)
      for item in items {
        output.result(
          "\(item.workspaceName): \(yes ? "deleted" : "would delete") \(item.sessions) sessions "
            + "with \(item.messages) messages",
          [
            ("done", .bool(yes)), ("workspace", .text(item.workspaceName)),
            ("sessions", .number(item.sessions)), ("messages", .number(item.messages)),
          ])
      }
      output.note(
        items.isEmpty ? "No conversation is old enough." : yes ? "Done." : needsConfirmation)
    }
  }
}

struct VisitorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "visitor", abstract: "Export or erase the data of one visitor.",
    subcommands: [Export.self, Erase.self])

  struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print all data of a visitor as one JSON object.",
      discussion: """
        The object lists the files of the visitor's conversations. --files also writes their bytes \
        to a new folder that only its owner may read, each as <id>-<name>, from the disk or from \
        the bucket.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Option(help: ArgumentHelp("A new folder for the files.", valueName: "folder"))
    var files: String?
    @Argument(help: "The visitor's id.") var id: String

    func run() async throws {
      try await options.perform { settings, output in
        try Database.withCurrentSchema(settings) { connection in
          let workspace = try connection.workspace(named: workspace)
          let visitor = try VisitorCommand.visitorID(id)
          guard
            let json = try StoredData(connection).export(visitor, workspace: workspace.id)
          else {
            throw VisitorCommand.noVisitor(id, workspace)
          }
          if let files {
            try VisitorFiles(files, settings)
              .write(visitor, workspace: workspace.id, connection, output)
          }
          Terminal.result(json)
        }
      }
    }
  }

  struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Erase a visitor's data; messages keep their numbers and lose their content.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Argument(help: "The visitor's id.") var id: String
    @Flag(help: "Erase; without this, only print the numbers.") var yes = false

    func run() async throws {
      try await options.runOnSchema { storedData, connection, output in
        let workspace = try connection.workspace(named: workspace)
        let visitor = try VisitorCommand.visitorID(id)
        guard var erasure = try storedData.erasure(of: visitor, workspace: workspace.id) else {
          throw VisitorCommand.noVisitor(id, workspace)
        }
        if yes { erasure = try storedData.erase(visitor, workspace: workspace.id) }
        output.result(
          "\(yes ? "erased" : "would erase") \(erasure.messages) messages in \(erasure.sessions) "
            + "sessions, and the visitor",
          [
            ("done", .bool(yes)), ("sessions", .number(erasure.sessions)),
            ("messages", .number(erasure.messages)),
          ])
        if !yes { output.note(needsConfirmation) }
      }
    }
  }

  fileprivate static func visitorID(_ text: String) throws -> Identifier {
    guard let id = Identifier(text) else {
      throw CommandFailure("\(text) is not a visitor id (a UUID)")
    }
    return id
  }

  fileprivate static func noVisitor(_ id: String, _ workspace: Workspace) -> CommandFailure {
    CommandFailure("the workspace \"\(workspace.name)\" has no visitor \(id)")
  }
}

struct EpochCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "epoch",
    abstract: "Print the database's epoch, or renew it, so that clients reload everything.",
    discussion: """
      A restore by pg_restore, a point-in-time recovery and a fail-over are detected. After \
      restoring a copy of the data directory, run this with --renew before the gateway starts.
      """)

  @OptionGroup var options: AdministrationOptions
  @Flag(help: "Change the epoch.") var renew = false

  func run() async throws {
    try await options.runOnSchema { storedData, _, output in
      if renew { try storedData.renewEpoch() }
      let epoch = try storedData.epoch()
      output.result(
        "\(epoch.epoch.isEmpty ? "the first epoch" : epoch.epoch), since \(epoch.changedAt)",
        [("epoch", .text(epoch.epoch)), ("changed_at", .text("\(epoch.changedAt)"))])
    }
  }
}

/// `chirrup import`, `retention`, `visitor` and `epoch`: what an administrator does with
/// conversations. Whatever cannot be undone says first what it would do, and wants `--yes`.
import Archive
import ArgumentParser
import Directory
import Postgres
import Primitives

extension AdministrationOptions {
  /// As `run`, on a database that has this version's schema.
  func runOnSchema(_ body: (Archive, BlockingConnection, CommandOutput) throws -> Void) async throws
  {
    try await run { connection, output in
      try Database.checkSchema(connection)
      try body(Archive(connection), connection, output)
    }
  }
}

private let unchanged = "nothing was changed; with --yes it is done"

struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Import the conversations of another system.",
    subcommands: [Line.self])

  struct Line: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "line-oa",
      abstract: "Users and messages of a LINE official-account back end in the same database.",
      discussion: """
        They become visitors, sessions and messages. The old tables are only read. Ids are derived \
        from the old ones: run again, it brings what has come since.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Flag(help: "Carry it out; without this, only print its counts.") var yes = false

    func run() async throws {
      try await options.runOnSchema { archive, connection, output in
        let workspace = try connection.workspace(named: workspace)
        let line = try LineImport(archive, workspace: workspace.id)
        let summary = yes ? try line.run(report: output.tell) : try line.plan()
        output.answer(
          "\(yes ? "brought" : "would bring") \(summary.visitors) visitors, "
            + "\(summary.sessions) sessions, \(summary.messages) messages, "
            + "\(summary.friendEvents) follow events, and \(summary.settings) settings, intents "
            + "and replies",
          [
            ("done", .bool(yes)), ("visitors", .number(summary.visitors)),
            ("sessions", .number(summary.sessions)), ("messages", .number(summary.messages)),
            ("friend_events", .number(summary.friendEvents)),
            ("settings", .number(summary.settings)),
          ])
        if !yes { output.tell(unchanged) }
      }
    }
  }
}

struct RetentionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retention",
    abstract: "Delete conversations older than the retention period.",
    discussion: """
      Closed and deleted sessions without a message since so many days go as a whole, in batches, \
      beside a running gateway; and visitors who have none left. Each workspace gets a line in the \
      audit log.
      """)

  @OptionGroup var options: AdministrationOptions
  @Option(help: ArgumentHelp("Days to keep, 1 to 36500.", valueName: "days")) var days: Int
  @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name")) var workspace: String?
  @Flag(help: "Carry it out; without this, only count the conversations.") var yes = false

  func validate() throws {
    guard (1...36_500).contains(days) else { throw ValidationError("--days is 1 to 36500") }
  }

  func run() async throws {
    try await options.runOnSchema { archive, connection, output in
      let only = try workspace.map { try connection.workspace(named: $0).id }
      let items =
        yes
        ? try archive.removeExpired(days: days, workspace: only, report: output.tell)
        : try archive.expired(days: days, workspace: only)
      for item in items {
        output.answer(
          "\(item.workspaceName): \(yes ? "removed" : "would remove") \(item.sessions) sessions "
            + "with \(item.messages) messages",
          [
            ("done", .bool(yes)), ("workspace", .text(item.workspaceName)),
            ("sessions", .number(item.sessions)), ("messages", .number(item.messages)),
          ])
      }
      output.tell(items.isEmpty ? "Nothing is old enough." : yes ? "Done." : unchanged)
    }
  }
}

struct VisitorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "visitor", abstract: "Export or erase the data of one visitor.",
    subcommands: [Export.self, Erase.self])

  struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print all data of a visitor as one JSON object.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Argument(help: "The visitor's id.") var id: String

    func run() async throws {
      try await options.runOnSchema { archive, connection, output in
        let workspace = try connection.workspace(named: workspace)
        guard let json = try archive.export(VisitorCommand.visitorID(id), workspace: workspace.id)
        else {
          throw VisitorCommand.noVisitor(id, workspace)
        }
        Terminal.answer(json)
      }
    }
  }

  struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Erase a visitor everywhere; messages keep their numbers and lose their texts.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Argument(help: "The visitor's id.") var id: String
    @Flag(help: "Carry it out; without this, only list the data.") var yes = false

    func run() async throws {
      try await options.runOnSchema { archive, connection, output in
        let workspace = try connection.workspace(named: workspace)
        let visitor = try VisitorCommand.visitorID(id)
        guard var erasure = try archive.erasure(of: visitor, workspace: workspace.id) else {
          throw VisitorCommand.noVisitor(id, workspace)
        }
        if yes { erasure = try archive.erase(visitor, workspace: workspace.id) }
        output.answer(
          "\(yes ? "erased" : "would erase") \(erasure.messages) messages in \(erasure.sessions) "
            + "sessions, and the visitor",
          [
            ("done", .bool(yes)), ("sessions", .number(erasure.sessions)),
            ("messages", .number(erasure.messages)),
          ])
        if !yes { output.tell(unchanged) }
      }
    }
  }

  fileprivate static func visitorID(_ text: String) throws -> Identifier {
    guard let id = Identifier(text) else { throw CommandFailure("\(text) is no id of a visitor") }
    return id
  }

  fileprivate static func noVisitor(_ id: String, _ workspace: Workspace) -> CommandFailure {
    CommandFailure("the workspace \"\(workspace.name)\" has no visitor \(id)")
  }
}

struct EpochCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "epoch",
    abstract: "Declare that a database was restored, so that clients load it anew.",
    discussion: """
      A restore by pg_restore, a recovery to a point in time and a fail-over are recognised by \
      themselves. After a copy of the data folder was put back, run it with --renew before the \
      gateway starts.
      """)

  @OptionGroup var options: AdministrationOptions
  @Flag(help: "Change the epoch.") var renew = false

  func run() async throws {
    try await options.runOnSchema { archive, _, output in
      if renew { try archive.renewEpoch() }
      let epoch = try archive.epoch()
      output.answer(
        "\(epoch.epoch.isEmpty ? "the first epoch" : epoch.epoch), since \(epoch.changedAt)",
        [("epoch", .text(epoch.epoch)), ("changed_at", .text("\(epoch.changedAt)"))])
    }
  }
}

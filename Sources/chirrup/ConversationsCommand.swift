/// `chirrup conversations`: lists conversations, titles them, and deletes and restores them.
/// Running gateways apply a change at once.
import ArgumentParser
import Conversations
import DataRetention
import Directory
import Postgres
import Primitives

struct ConversationsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conversations",
    abstract: "List, title, delete and restore conversations.",
    discussion: """
      A deleted conversation disappears from the console and the widget at once. It can be \
      restored until it is erased, 30 days later or as the workspace's settings say.
      """,
    subcommands: [List.self, Title.self, Delete.self, Restore.self])

  /// The most conversations that one command lists.
  fileprivate static let mostAtOnce = 1_000

  struct Place: ParsableArguments {
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Argument(help: "The conversation's id.") var id: String

    fileprivate func session() throws -> Identifier {
      guard let session = Identifier(id) else {
        throw CommandFailure("\(id) is not a conversation id (a UUID)")
      }
      return session
    }

    fileprivate func noConversation() -> CommandFailure {
      CommandFailure("the workspace \"\(workspace)\" has no conversation \(id)")
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List conversations, last activity first; with --deleted, last deleted first.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Flag(help: "Only deleted conversations, with the time of their erasure.") var deleted = false
    @Option(help: ArgumentHelp("The most conversations to list, 1 to 1000.", valueName: "count"))
    var limit = 100

    func validate() throws {
      guard (1...mostAtOnce).contains(limit) else {
        throw ValidationError("--limit must be 1 to \(mostAtOnce)")
      }
    }

    func run() async throws {
      try await options.runOnSchema { _, connection, output in
        let workspace = try connection.workspace(named: workspace).id
        let count =
          deleted
          ? try listDeleted(workspace, connection, output)
          : try listOthers(workspace, connection, output)
        if count == 0 { output.note("There are no \(deleted ? "deleted " : "")conversations.") }
      }
    }

    private func listDeleted(
      _ workspace: Identifier, _ connection: BlockingConnection, _ output: CommandOutput
    ) throws -> Int {
      let rows = try connection.run(
        ConversationDeletion.page(of: workspace, search: nil, after: nil, limit: limit))
      for row in 0..<rows.count {
        let id = rows.uuid(row, 0)?.description ?? ""
        let title = rows.text(row, 1) ?? ""
        let deletedAt = rows.time(row, 8)?.description ?? ""
        let erasedAt = rows.time(row, 11)?.description
        output.result(
          "\(id)  deleted \(deletedAt)  \(erasedAt.map { "erased \($0)" } ?? "never erased")"
            + "  \(oneLine(title))",
          [
            ("conversation", .text(id)), ("title", .text(title)),
            ("deleted_at", .text(deletedAt)),
            ("erased_at", erasedAt.map { .text($0) } ?? .null),
            ("messages", .number(rows.int(row, 5) ?? 0)),
          ])
      }
      return rows.count
    }

    private func listOthers(
      _ workspace: Identifier, _ connection: BlockingConnection, _ output: CommandOutput
    ) throws -> Int {
      let positions = try connection.run(ConversationList(limit: limit).page(of: workspace))
        .prefix(limit)
      let rows = try connection.run(conversationsQuery(positions.map(\.id), of: workspace))
      var known: [Identifier: Conversation] = [:]
      for row in 0..<rows.count {
        if let item = decodeConversation(rows, row: row) { known[item.id] = item }
      }
      for item in positions.compactMap({ known[$0.id] }) {
        output.result(
          "\(item.id)  \(item.status)  \(item.updatedAt)  \(oneLine(item.title))",
          [
            ("conversation", .text(item.id.description)), ("title", .text(item.title)),
            ("status", .text(item.status)), ("updated_at", .text(item.updatedAt.description)),
          ])
      }
      return positions.count
    }
  }

  struct Title: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Set the title of a conversation; an empty one removes it.")

    @OptionGroup var options: AdministrationOptions
    @OptionGroup var place: Place
    @Argument(help: "The title: one line of at most 200 characters.") var title: String

    func validate() throws {
      guard ConversationTitle.normalize(title) != nil else {
        throw ValidationError(
          "a title must be one line of at most \(ConversationTitle.charactersMax) characters")
      }
    }

    func run() async throws {
      let title = ConversationTitle.normalize(title) ?? ""
      let session = try place.session()
      try await options.runOnSchema { _, connection, output in
        let workspace = try connection.workspace(named: place.workspace).id
        guard try connection.run(ConversationTitle.set(title, of: session, in: workspace)) else {
          throw place.noConversation()
        }
        output.result(
          title.isEmpty ? "\(session) has no title" : "\(session) is titled \(oneLine(title))",
          [("conversation", .text(session.description)), ("title", .text(title))])
      }
    }
  }

  struct Delete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Delete a conversation. It can be restored until it is erased.")

    @OptionGroup var options: AdministrationOptions
    @OptionGroup var place: Place

    func run() async throws {
      try await options.change(
        place, by: ConversationDeletion.delete, changed: "is deleted",
        unchanged: "was deleted before")
    }
  }

  struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Restore a deleted conversation.")

    @OptionGroup var options: AdministrationOptions
    @OptionGroup var place: Place

    func run() async throws {
      try await options.change(
        place, by: ConversationDeletion.restore, changed: "is restored",
        unchanged: "was not deleted")
    }
  }
}

extension AdministrationOptions {
  /// Deletes or restores a conversation, and prints whether this changed it.
  fileprivate func change(
    _ place: ConversationsCommand.Place,
    by statement: @Sendable (Identifier, AuditActor) -> Statement<Bool?>,
    changed: String, unchanged: String
  ) async throws {
    let session = try place.session()
    try await runOnSchema { _, connection, output in
      let workspace = try connection.workspace(named: place.workspace).id
      let isChanged = try connection.run(statement(session, .command(in: workspace)))
      guard let isChanged else { throw place.noConversation() }
      output.result(
        "\(session) \(isChanged ? changed : unchanged)",
        [("conversation", .text(session.description)), ("changed", .bool(isChanged))])
    }
  }
}

/// A title without control characters and directional marks, which a terminal would execute.
private func oneLine(_ text: String) -> String {
  String(
    String.UnicodeScalarView(
      text.unicodeScalars.map { scalar in
        let isHarmful =
          scalar.properties.generalCategory == .control
          || scalar.properties.generalCategory == .format
        return isHarmful ? "\u{FFFD}" : scalar
      }))
}

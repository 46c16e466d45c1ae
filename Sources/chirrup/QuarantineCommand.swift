/// `chirrup quarantine`: the messages whose content PostgreSQL refused. The log continues without
/// them; an administrator inspects them here, then stores them again or deletes them.
import ArgumentParser
import Chat
import DataRetention
import Directory
import OpenSSL
import Postgres
import Primitives

struct QuarantineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine",
    abstract: "Inspect, retry or delete the messages that PostgreSQL refused.",
    discussion: """
      Exit codes: 0 success; 1 a message was refused again or does not exist; 4 PostgreSQL does \
      not answer; 64 wrong usage. See config/DATABASE.md.
      """,
    subcommands: [List.self, Show.self, Release.self, Purge.self])

  /// The most messages that one command lists or retries.
  fileprivate static let mostAtOnce = 1_000

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the messages, newest first, without their text.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?
    @Option(help: ArgumentHelp("The most messages to list, 1 to 1000.", valueName: "count"))
    var limit = 100

    func validate() throws {
      guard (1...mostAtOnce).contains(limit) else {
        throw ValidationError("--limit must be 1 to \(mostAtOnce)")
      }
    }

    func run() async throws {
      try await options.runOnSchema { storedData, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0).id }
        let messages = try storedData.refused(workspace: only, limit: limit)
        for message in messages { output.result(summary(message), members(message)) }
        if messages.isEmpty { output.note("No messages are in quarantine.") }
      }
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print one message with its text and the reason of the refusal.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?
    @Argument(help: "The message's id.") var id: String

    func run() async throws {
      try await options.runOnSchema { storedData, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0).id }
        let messages = try storedData.refused(
          workspace: only, id: messageID(id), limit: mostAtOnce)
        guard !messages.isEmpty else { throw notThere(id) }
        for message in messages {
          output.result(
            """
            \(summary(message))
              session \(message.session), by the \(message.role) \(readable(message.senderName))
              \(message.reason)
              body    \(readable(message.body))
              payload \(readable(message.payload))
            """, members(message) + contents(message))
        }
      }
    }
  }

  struct Release: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Store messages again, each as the newest message of its session, with its own id.",
      discussion: """
        First remove the cause of the refusal, for example a CHECK constraint or a trigger of \
        your own, or a session deleted by mistake. The author was notified of the rejection; the \
        message now appears at the end of the conversation.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?
    @Argument(help: "The messages' ids.") var ids: [String] = []
    @Flag(help: "All messages of the workspace, in the order of their arrival.") var all = false

    func validate() throws {
      guard all ? ids.isEmpty && workspace != nil : !ids.isEmpty else {
        throw ValidationError("specify message ids, or --all with --workspace")
      }
    }

    func run() async throws {
      let settings = try await options.data.settings()
      try await options.runOnSchema { storedData, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0).id }
        var messages: [StoredData.Refused] = []
        for id in ids {
          let found = try storedData.refused(
            workspace: only, id: messageID(id), limit: mostAtOnce)
          guard !found.isEmpty else { throw notThere(id) }
          messages += found
        }
        if all { messages = try storedData.refused(workspace: only, limit: mostAtOnce) }
        messages.sort { $0.firstAt < $1.firstAt }
        var writer = ReleaseWriter(url: try Database.url(settings))
        var failed = 0
        for message in messages {
          let outcome = try writer.append(message)
          if let seq = outcome.seq {
            try storedData.released(message, seq: seq)
          } else {
            failed += 1
          }
          output.result(
            "\(message.id): \(outcome.text)",
            [
              ("id", .text("\(message.id)")), ("released", .bool(outcome.seq != nil)),
              ("seq", outcome.seq.map { .number($0) } ?? .null), ("outcome", .text(outcome.text)),
            ])
        }
        if failed > 0 { throw ExitCode.failure }
      }
    }
  }

  struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Delete messages permanently.",
      discussion: "The gateway deletes messages older than 30 days automatically.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?
    @Option(
      help: ArgumentHelp("Only messages older than this, 0 to 36500 days.", valueName: "days"))
    var days = 0
    @Flag(help: "Delete them; without this, only print their number.") var yes = false

    func validate() throws {
      guard (0...36_500).contains(days) else { throw ValidationError("--days must be 0 to 36500") }
    }

    func run() async throws {
      try await options.runOnSchema { storedData, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0).id }
        let count =
          yes
          ? try storedData.purgeRefused(olderThan: days, workspace: only)
          : try storedData.countRefused(olderThan: days, workspace: only)
        output.result(
          "\(yes ? "deleted" : "would delete") \(count) messages",
          [("done", .bool(yes)), ("messages", .number(count))])
        if !yes { output.note(needsConfirmation) }
      }
    }
  }
}

// MARK: Formatting

extension ParsableCommand {
  fileprivate var mostAtOnce: Int { QuarantineCommand.mostAtOnce }

  fileprivate func messageID(_ text: String) throws -> Identifier {
    guard let id = Identifier(text) else {
      throw CommandFailure("\(text) is not a message id (a UUID)")
    }
    return id
  }

  fileprivate func notThere(_ id: String) -> CommandFailure {
    CommandFailure("the quarantine holds no message \(id)")
  }

  fileprivate func summary(_ message: StoredData.Refused) -> String {
    "\(message.id)  \(message.lastAt)  \(message.state)  \(message.kind) of "
      + "\(message.body.count + message.payload.count) bytes in \(message.workspaceName), "
      + "refused \(message.count == 1 ? "once" : "\(message.count) times")"
  }

  fileprivate func members(_ message: StoredData.Refused) -> CommandOutput.Members {
    [
      ("id", .text("\(message.id)")), ("workspace", .text(message.workspaceName)),
      ("session", .text("\(message.session)")), ("kind", .text(message.kind)),
      ("role", .text(message.role)),
      ("sender", message.sender.map { .text("\($0)") } ?? .null),
      ("bytes", .number(Int64(message.body.count + message.payload.count))),
      ("sqlstate", .text(message.state)), ("reason", .text(message.reason)),
      ("refusals", .number(message.count)), ("first_at", .text("\(message.firstAt)")),
      ("last_at", .text("\(message.lastAt)")),
    ]
  }

  /// The content twice: as readable text, and exactly, in base64.
  fileprivate func contents(_ message: StoredData.Refused) -> CommandOutput.Members {
    [
      ("sender_name", .text(readable(message.senderName))),
      ("body", .text(readable(message.body))),
      ("body_base64", .text(Base64.standard.encode(message.body))),
      ("payload", .text(readable(message.payload))),
      ("payload_base64", .text(Base64.standard.encode(message.payload))),
    ]
  }

  /// Replaces control characters, which could control the terminal, and invalid UTF-8 by U+FFFD.
  fileprivate func readable(_ bytes: [UInt8]) -> String {
    var text = ""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
      let isHarmful = isControl && scalar != "\n" && scalar != "\t"
      text.unicodeScalars.append(isHarmful ? "\u{FFFD}" : scalar)
    }
    return text
  }
}

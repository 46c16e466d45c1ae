/// `chirrup quarantine`: messages that PostgreSQL refused for what is in them. The log goes on
/// without them; here an administrator looks why, and tries them again or throws them away.
import Archive
import ArgumentParser
import Chat
import Directory
import OpenSSL
import Postgres
import Primitives

struct QuarantineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine",
    abstract: "Inspect messages that PostgreSQL refused, and retry them.",
    discussion: """
      Exit codes: 0 done; 1 a message is refused again, or is not there; 4 PostgreSQL does not \
      answer; 64 wrong usage. config/DATABASE.md tells more.
      """,
    subcommands: [List.self, Show.self, Release.self, Purge.self])

  /// Messages that one command lists or tries.
  fileprivate static let mostAtOnce = 1_000

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the messages, the newest first, without their texts.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?
    @Option(help: ArgumentHelp("Maximum number, 1 to 1000.", valueName: "count")) var limit = 100

    func validate() throws {
      guard (1...mostAtOnce).contains(limit) else {
        throw ValidationError("--limit is 1 to \(mostAtOnce)")
      }
    }

    func run() async throws {
      try await options.runOnSchema { archive, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0).id }
        let messages = try archive.refused(workspace: only, limit: limit)
        for message in messages { output.answer(summary(message), members(message)) }
        if messages.isEmpty { output.tell("Nothing is in quarantine.") }
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
      try await options.runOnSchema { archive, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0).id }
        let messages = try archive.refused(
          workspace: only, id: messageID(id), limit: mostAtOnce)
        guard !messages.isEmpty else { throw notThere(id) }
        for message in messages {
          output.answer(
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
      abstract: "Retry messages, each as a new message of its session under its own id.",
      discussion: """
        After what made PostgreSQL refuse them was mended: a check of an administrator's own, a \
        trigger, a session deleted by mistake. Who wrote it was told that it was rejected; it now \
        appears at the end of the conversation.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?
    @Argument(help: "The messages' ids.") var ids: [String] = []
    @Flag(help: "All of the workspace, in the order in which they came.") var all = false

    func validate() throws {
      guard all ? ids.isEmpty && workspace != nil : !ids.isEmpty else {
        throw ValidationError("name the messages, or --all with --workspace")
      }
    }

    func run() async throws {
      let settings = try await options.data.settings()
      try await options.runOnSchema { archive, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0).id }
        var messages: [Archive.Refused] = []
        for id in ids {
          let found = try archive.refused(
            workspace: only, id: messageID(id), limit: mostAtOnce)
          guard !found.isEmpty else { throw notThere(id) }
          messages += found
        }
        if all { messages = try archive.refused(workspace: only, limit: mostAtOnce) }
        messages.sort { $0.firstAt < $1.firstAt }
        var writer = ReleaseWriter(url: try Database.url(settings))
        var failed = 0
        for message in messages {
          let outcome = try writer.append(message)
          if let seq = outcome.seq { try archive.released(message, seq: seq) } else { failed += 1 }
          output.answer(
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
      discussion: "The gateway deletes messages older than 30 days by itself.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?
    @Option(help: ArgumentHelp("Only older messages, 0 to 36500 days.", valueName: "days"))
    var days = 0
    @Flag(help: "Carry it out; without this, only count the messages.") var yes = false

    func validate() throws {
      guard (0...36_500).contains(days) else { throw ValidationError("--days is 0 to 36500") }
    }

    func run() async throws {
      try await options.runOnSchema { archive, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0).id }
        let count =
          yes
          ? try archive.purgeRefused(olderThan: days, workspace: only)
          : try archive.countRefused(olderThan: days, workspace: only)
        output.answer(
          "\(yes ? "removed" : "would remove") \(count) messages",
          [("done", .bool(yes)), ("messages", .number(count))])
        if !yes { output.tell("nothing was changed; with --yes it is done") }
      }
    }
  }
}

// MARK: What they say

extension ParsableCommand {
  fileprivate var mostAtOnce: Int { QuarantineCommand.mostAtOnce }

  fileprivate func messageID(_ text: String) throws -> Identifier {
    guard let id = Identifier(text) else { throw CommandFailure("\(text) is no id of a message") }
    return id
  }

  fileprivate func notThere(_ id: String) -> CommandFailure {
    CommandFailure("there is no message \(id) in quarantine")
  }

  fileprivate func summary(_ message: Archive.Refused) -> String {
    "\(message.id)  \(message.lastAt)  \(message.state)  \(message.kind) of "
      + "\(message.body.count + message.payload.count) bytes in \(message.workspaceName), "
      + "refused \(message.count == 1 ? "once" : "\(message.count) times")"
  }

  fileprivate func members(_ message: Archive.Refused) -> CommandOutput.Members {
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

  /// As text for people, and exactly.
  fileprivate func contents(_ message: Archive.Refused) -> CommandOutput.Members {
    [
      ("sender_name", .text(readable(message.senderName))),
      ("body", .text(readable(message.body))),
      ("body_base64", .text(Base64.standard.encode(message.body))),
      ("payload", .text(readable(message.payload))),
      ("payload_base64", .text(Base64.standard.encode(message.payload))),
    ]
  }

  /// On a terminal a control character could do anything; what is no UTF-8 becomes U+FFFD.
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

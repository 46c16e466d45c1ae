/// `chirrup keys`: the keys that sign tokens. Running gateways read them every two seconds.
import ArgumentParser
import Directory
import Kernel
import OpenSSL
import Postgres
import Primitives
import Settings

struct KeysCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys", abstract: "List, rotate and end the keys that sign tokens.",
    discussion: """
      A new key signs \(SigningKey.leadSeconds) seconds after it was made. Tokens of the previous \
      one are accepted for a day more, until the last of them has expired: nobody is logged out. \
      Run it with the gateway's settings, so that keys are encrypted with its credentials_key.
      """,
    subcommands: [List.self, Rotate.self, End.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the keys without their secrets, one JSON object per line, oldest first.")

    @OptionGroup var data: DataOptions

    func run() async throws {
      let settings = try await data.settings()
      let keys = try Database.withCurrentSchema(settings) { connection in
        _ = try Database.firstKey(settings, connection)
        return try connection.run(SigningKey.all)
      }
      let now = SystemClock.wallTime()
      let signing = keys.last { key in
        key.startsAt <= now && (key.endsAt.map { now < $0 } ?? true)
      }
      for key in keys {
        let state =
          if let endsAt = key.endsAt, endsAt <= now {
            "ended"
          } else if key.startsAt > now {
            "not yet in use"
          } else {
            key == signing ? "signs" : "accepted"
          }
        let end = key.endsAt.map { "\"\($0)\"" } ?? "null"
        Terminal.result(
          """
          {"key":\(jsonText(key.id)),"state":"\(state)","starts_at":"\(key.startsAt)",\
          "ends_at":\(end),"is_encrypted":\(key.isEncrypted)}
          """)
      }
    }
  }

  struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a new key, and print its id and when it begins to sign as JSON.")

    @OptionGroup var data: DataOptions
    @Flag(
      help: ArgumentHelp(
        "The new key signs now and all others end: for a key that leaked.",
        discussion: """
          Within seconds every connection is closed. Browsers get a new token and return; \
          tokens in scripts must be issued again.
          """))
    var atOnce = false

    func run() async throws {
      let id = "key-" + SecureRandom.token(byteCount: 9)
      let settings = try await data.settings()
      let secret = SigningKey.stored(
        SecureRandom.bytes(32), id: id, by: SecretBox(configured: settings.credentialsKeys))
      let startsAt = try KeysCommand.inTurn(settings) { connection in
        // A gateway of the database must be able to read the new key.
        _ = try Database.signingKey(settings, connection)
        return try connection.run(SigningKey.rotate(id: id, secret: secret, isAtOnce: atOnce))
      }
      guard let startsAt else {
        throw CommandFailure(
          "a new key has not begun to sign yet, or \(SigningKey.acceptedMax) keys are accepted; "
            + "see chirrup keys list, and rotate later, or with --at-once if a key leaked")
      }
      Terminal.result(
        """
        {"key":\(jsonText(id)),"starts_at":"\(startsAt)"}
        """)
    }
  }

  struct End: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "End a replaced key now: its tokens and their connections end within seconds.")

    @OptionGroup var data: DataOptions
    @Argument(help: "The key's id, as chirrup keys list prints it.") var key: String

    func run() async throws {
      let settings = try await data.settings()
      let hasEnded = try KeysCommand.inTurn(settings) { connection in
        try connection.run(SigningKey.end(id: key))
      }
      guard hasEnded else {
        throw CommandFailure(
          "\(key) is unknown, has ended, or signs: see chirrup keys list; the key that signs is "
            + "ended by chirrup keys rotate --at-once")
      }
      Terminal.note("the key \(key) has ended; gateways know within seconds")
    }
  }

  /// Runs `change` in a transaction, after the first key exists, and alone.
  private static func inTurn<Result>(
    _ settings: Settings, _ change: (BlockingConnection) throws -> Result
  ) throws -> Result {
    try Database.withCurrentSchema(settings, as: .owner) { connection in
      _ = try Database.firstKey(settings, connection)
      return try connection.transaction { connection in
        try connection.run(SigningKey.lock)
        return try change(connection)
      }
    }
  }
}

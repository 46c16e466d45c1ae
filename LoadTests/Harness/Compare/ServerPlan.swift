/// A server of a comparison: its start command, and its addresses by kind of work.
///
/// In every text these placeholders are replaced: `{port}`, `{port+1}` and `{port+2}` by ports of
/// this server, `{scratch}` by a temporary folder, `{chirrup}` by the gateway's binary, `{folder}`
/// by the folder of the YAML file, `{certificate}` and `{key}` by PEM files created for the run,
/// `{database}` by the URL of the PostgreSQL that was started for this server.
/// `$NAME` at the start of a word of the command is an environment variable.
import Foundation

struct ServerPlan: Decodable, Equatable {
  enum Kind: String, Codable {
    /// The gateway: its fan-out uses the chat protocol, with committed messages.
    case chirrup
    /// Any WebSocket server with an echo, or with publishers and subscribers.
    case plain
    /// As `plain`, with bytes instead of frames.
    case raw
  }

  var name: String
  /// Servers for plain and for TLS connections may share a column.
  var column: String
  var kind: Kind
  /// Either a command, or the process id of a running server, which is not stopped.
  var command: [String]
  var pid: Int?
  /// How to install the server, shown when it cannot be started.
  var hint: String?
  /// An `http://` URL that answers 200 when the server is ready; without it an accepted
  /// connection is enough.
  var ready: String?
  var echo: String?
  var subscribe: String?
  var publish: String?
  /// The endpoint of the chat, in the protocol `chirrup.v1`.
  var chat: String?
  /// The gateway's, which issues the tokens of its clients.
  var dataDirectory: String?
  /// The command that issues another server's tokens: `{count}` lines as `chirrup token {role}`
  /// prints them, where the role is visitor or operator.
  var tokens: [String]
  /// A folder for a PostgreSQL that is started for another server, and set as the gateway's.
  var postgres: String?
  /// Takes part only in work that names it.
  var isApart: Bool
  /// May run on every core, not only on the servers' core.
  var hasAllCores: Bool

  enum CodingKeys: String, CodingKey, CaseIterable {
    case name, column, kind, command, pid, hint, ready, echo, subscribe, publish, chat
    case tokens, postgres
    case dataDirectory = "data-directory"
    case isApart = "apart"
    case hasAllCores = "all-cores"
  }

  init(from decoder: any Decoder) throws {
    try refuseUnknownKeys(decoder, CodingKeys.self)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    name = try values.decode(String.self, forKey: .name)
    column = try values.decodeIfPresent(String.self, forKey: .column) ?? name
    kind = try values.decode(Kind.self, forKey: .kind)
    command = try values.decodeIfPresent([String].self, forKey: .command) ?? []
    pid = try values.decodeIfPresent(Int.self, forKey: .pid)
    hint = try values.decodeIfPresent(String.self, forKey: .hint)
    ready = try values.decodeIfPresent(String.self, forKey: .ready)
    echo = try values.decodeIfPresent(String.self, forKey: .echo)
    subscribe = try values.decodeIfPresent(String.self, forKey: .subscribe)
    publish = try values.decodeIfPresent(String.self, forKey: .publish)
    chat = try values.decodeIfPresent(String.self, forKey: .chat)
    dataDirectory = try values.decodeIfPresent(String.self, forKey: .dataDirectory)
    tokens = try values.decodeIfPresent([String].self, forKey: .tokens) ?? []
    postgres = try values.decodeIfPresent(String.self, forKey: .postgres)
    isApart = try values.decodeIfPresent(Bool.self, forKey: .isApart) ?? false
    hasAllCores = try values.decodeIfPresent(Bool.self, forKey: .hasAllCores) ?? false
    guard command.isEmpty != (pid == nil) else {
      throw PlanFailure("\(name): needs either a command or the pid of a running server")
    }
    guard echo != nil || subscribe != nil || chat != nil else {
      throw PlanFailure("\(name): it has no address for any work")
    }
    guard (subscribe == nil) == (publish == nil) else {
      throw PlanFailure("\(name): subscribe and publish must be given together")
    }
    guard (chat == nil) == (kind == .chirrup ? dataDirectory == nil : tokens.isEmpty) else {
      throw PlanFailure(
        "\(name): chat and \(kind == .chirrup ? "data-directory" : "tokens") must be given together"
      )
    }
    guard kind == .plain || (tokens.isEmpty && postgres == nil) else {
      throw PlanFailure("\(name): only a plain server has tokens and postgres")
    }
    let secure = Set(addresses.map { $0.hasPrefix("wss://") })
    guard secure.count == 1 else {
      throw PlanFailure("\(name): all its addresses must be wss://, or none; add another server")
    }
  }

  private var addresses: [String] { [echo, subscribe, publish, chat].compactMap(\.self) }
  var isSecure: Bool { addresses.contains { $0.hasPrefix("wss://") } }

  /// The arguments of `chirrup-load KIND` with this server's addresses; nil if it cannot do the
  /// work.
  func arguments(for work: WorkPlan) -> [String]? {
    var arguments: [String]
    if kind == .chirrup, work.kind == .fanout || work.subscribes || work.kind.isOfTheGateway {
      guard let chat, let dataDirectory else { return nil }
      // The newer commands have an option for the URL.
      arguments = work.kind.isOfTheGateway ? ["--url", chat] : [chat]
      arguments += ["--chirrup", "{chirrup}", "--data-dir", dataDirectory]
      if work.kind == .idle { arguments.append("--subscribe") }
    } else if work.kind == .chat {
      guard let chat else { return nil }
      arguments = ["--url", chat, "--tokens", ServerPlan.tokenFile]
    } else if work.subscribes || work.kind.isOfTheGateway {
      return nil
    } else if work.kind == .fanout {
      guard let subscribe, let publish else { return nil }
      arguments = ["--subscribe", subscribe, "--publish", publish]
    } else {
      guard let echo, kind != .raw || work.kind == .echo else { return nil }
      arguments = [echo]
    }
    if kind == .raw { arguments.append("--raw") }
    if isSecure { arguments.append("--insecure") }
    return arguments
  }

  /// The file with the output of `tokens` for a turn.
  static let tokenFile = "{scratch}/tokens"

  /// The folder of the private PostgreSQL.
  var databaseFolder: String? { postgres ?? dataDirectory }

  /// Replaces the program, also in `tokens`.
  mutating func use(program: String) {
    if tokens.first == command.first { tokens[0] = program }
    command[0] = program
  }

  /// Replaces every `{NAME}`, except in `tokens`.
  func expanded(_ names: [String: String]) throws -> ServerPlan {
    var copy = self
    copy.command = try command.map { try ServerPlan.expand($0, names) }
    copy.ready = try ready.map { try ServerPlan.expand($0, names) }
    copy.echo = try echo.map { try ServerPlan.expand($0, names) }
    copy.subscribe = try subscribe.map { try ServerPlan.expand($0, names) }
    copy.publish = try publish.map { try ServerPlan.expand($0, names) }
    copy.chat = try chat.map { try ServerPlan.expand($0, names) }
    copy.dataDirectory = try dataDirectory.map { try ServerPlan.expand($0, names) }
    copy.postgres = try postgres.map { try ServerPlan.expand($0, names) }
    return copy
  }

  static func expand(_ text: String, _ names: [String: String]) throws -> String {
    var result = ""
    var rest = Substring(text)
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}") else {
        throw PlanFailure("\"\(text)\": a { without a }")
      }
      let name = String(rest[rest.index(after: open)..<close])
      guard let value = names[name] else {
        let known = names.keys.sorted().joined(separator: ", ")
        throw PlanFailure("\"\(text)\": unknown {\(name)}; known: \(known)")
      }
      result += rest[..<open] + value
      rest = rest[rest.index(after: close)...]
    }
    return result + rest
  }
}

extension ServerPlan {
  var needsCertificate: Bool { command.contains { $0.contains("{certificate}") } }
}

/// A server of a comparison: how it is started, and where it does which work.
///
/// In every text `{port}`, `{port+1}` and `{port+2}` are ports of its own, `{scratch}` a folder
/// that is removed afterwards, `{chirrup}` the gateway's binary, `{folder}` the folder of the YAML
/// file, `{certificate}` and `{key}` PEM files made for the run, and `$NAME` at the begin of a
/// command's word is a variable of the environment.
import Foundation

struct ServerPlan: Decodable, Equatable {
  enum Kind: String, Codable {
    /// The gateway: its fan-out goes through the real protocol, with committed messages.
    case chirrup
    /// Any WebSocket server that echoes and forwards.
    case plain
    /// The same with bytes that have no frames.
    case raw
  }

  var name: String
  /// Servers for plain and for TLS connections may share one.
  var column: String
  var kind: Kind
  /// Either a command, or the process of a server that runs already and is left running.
  var command: [String]
  var pid: Int?
  /// Shown when it cannot be started: how to get it.
  var hint: String?
  /// An `http://` address that answers with 200; without it a connection that opens.
  var ready: String?
  var echo: String?
  var subscribe: String?
  var publish: String?
  /// The chat endpoint of the gateway, and its data directory, for the tokens.
  var chat: String?
  var dataDirectory: String?
  /// It takes part only in work that names it.
  var isApart: Bool
  /// It may run on every core, and not only on that of the servers.
  var hasAllCores: Bool

  enum CodingKeys: String, CodingKey, CaseIterable {
    case name, column, kind, command, pid, hint, ready, echo, subscribe, publish, chat
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
    isApart = try values.decodeIfPresent(Bool.self, forKey: .isApart) ?? false
    hasAllCores = try values.decodeIfPresent(Bool.self, forKey: .hasAllCores) ?? false
    guard command.isEmpty != (pid == nil) else {
      throw PlanFailure("\(name): either a command, or the pid of one that runs")
    }
    guard echo != nil || subscribe != nil || chat != nil else {
      throw PlanFailure("\(name): it has no address to do any work at")
    }
    guard (subscribe == nil) == (publish == nil) else {
      throw PlanFailure("\(name): subscribe and publish belong together")
    }
    guard (chat == nil) == (dataDirectory == nil) else {
      throw PlanFailure("\(name): chat and data-directory belong together")
    }
    let secure = Set(addresses.map { $0.hasPrefix("wss://") })
    guard secure.count == 1 else {
      throw PlanFailure("\(name): all its addresses are wss://, or none; use another server")
    }
  }

  private var addresses: [String] { [echo, subscribe, publish, chat].compactMap(\.self) }
  var isSecure: Bool { addresses.contains { $0.hasPrefix("wss://") } }

  /// The arguments of `chirrup-load KIND` that say where; nil if it cannot do that.
  func arguments(for work: WorkPlan) -> [String]? {
    var arguments: [String]
    if kind == .chirrup, work.kind == .fanout || work.subscribes || work.kind.isOfTheGateway {
      guard let chat, let dataDirectory else { return nil }
      // The newer commands have an option for the address.
      arguments = work.kind.isOfTheGateway ? ["--url", chat] : [chat]
      arguments += ["--chirrup", "{chirrup}", "--data-dir", dataDirectory]
      if work.kind == .idle { arguments.append("--subscribe") }
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

  /// With every `{NAME}` replaced.
  func expanded(_ names: [String: String]) throws -> ServerPlan {
    var copy = self
    copy.command = try command.map { try ServerPlan.expand($0, names) }
    copy.ready = try ready.map { try ServerPlan.expand($0, names) }
    copy.echo = try echo.map { try ServerPlan.expand($0, names) }
    copy.subscribe = try subscribe.map { try ServerPlan.expand($0, names) }
    copy.publish = try publish.map { try ServerPlan.expand($0, names) }
    copy.chat = try chat.map { try ServerPlan.expand($0, names) }
    copy.dataDirectory = try dataDirectory.map { try ServerPlan.expand($0, names) }
    return copy
  }

  static func expand(_ text: String, _ names: [String: String]) throws -> String {
    var result = ""
    var rest = Substring(text)
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}") else {
        throw PlanFailure("\"\(text)\": a { without its }")
      }
      let name = String(rest[rest.index(after: open)..<close])
      guard let value = names[name] else {
        let known = names.keys.sorted().joined(separator: ", ")
        throw PlanFailure("\"\(text)\": there is no {\(name)}; there are \(known)")
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

/// The plan of a comparison: servers, work and goals, read from a YAML file
/// (LoadTests/Peers/speed.yaml is the documented example).
///
/// An unknown key is an error, because a misspelt goal must not be ignored.
import Foundation
import Yams

struct ComparisonPlan: Decodable, Equatable {
  /// In a round each server does each of its work once.
  var rounds: Int
  /// The column that is divided by the others.
  var subject: String
  /// Options of `chirrup-load KIND` for all work of a kind.
  var options: [WorkPlan.Kind: [String: String]]
  var servers: [ServerPlan]
  var work: [WorkPlan]

  enum CodingKeys: String, CodingKey, CaseIterable {
    case rounds, subject, options, servers, work
  }

  init(from decoder: any Decoder) throws {
    try refuseUnknownKeys(decoder, CodingKeys.self)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    rounds = try values.decodeIfPresent(Int.self, forKey: .rounds) ?? 3
    servers = try values.decode([ServerPlan].self, forKey: .servers)
    work = try values.decode([WorkPlan].self, forKey: .work)
    subject =
      try values.decodeIfPresent(String.self, forKey: .subject) ?? servers.first?.column ?? ""
    let named =
      try values.decodeIfPresent([String: [String: Scalar]].self, forKey: .options) ?? [:]
    options = [:]
    for (name, values) in named {
      guard let kind = WorkPlan.Kind(rawValue: name) else {
        throw PlanFailure("options: unknown kind of work \"\(name)\"")
      }
      options[kind] = values.mapValues(\.text)
    }
  }

  static func read(_ path: String) throws -> ComparisonPlan {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw PlanFailure("\(path) cannot be read")
    }
    do {
      return try parse(String(decoding: data, as: UTF8.self))
    } catch {
      throw PlanFailure("\(path): \(PlanFailure.text(error))")
    }
  }

  static func parse(_ text: String) throws -> ComparisonPlan {
    let plan = try YAMLDecoder().decode(ComparisonPlan.self, from: text)
    try plan.check()
    return plan
  }

  private func check() throws {
    guard ([rounds] + work.compactMap(\.rounds)).allSatisfy({ (1...100).contains($0) }) else {
      throw PlanFailure("rounds must be 1 to 100")
    }
    guard !servers.isEmpty, !work.isEmpty else { throw PlanFailure("no servers, or no work") }
    for names in [servers.map(\.name), work.map(\.name)] {
      for (index, name) in names.enumerated() where names[..<index].contains(name) {
        throw PlanFailure("the name \"\(name)\" is used twice")
      }
    }
    guard columns.contains(subject) else { throw PlanFailure("no server is \"\(subject)\"") }
    for server in servers {
      _ = try server.expanded(ComparisonPlan.placeholders)
      for word in server.tokens { _ = try ServerPlan.expand(word, ComparisonPlan.placeholders) }
    }
    for work in work {
      if let stranger = work.servers?.first(where: { !columns.contains($0) }) {
        throw PlanFailure("\(work.name): unknown server \"\(stranger)\"")
      }
      for goal in work.goals {
        if let peer = goal.against, peer == subject || !columns.contains(peer) {
          throw PlanFailure("\(work.name): a goal against \"\(peer)\", which is no peer")
        }
      }
      for column in columns where servers(for: work, column: column).count > 1 {
        throw PlanFailure("\(work.name): two servers of the column \"\(column)\" can do it")
      }
    }
  }

  /// The names that may stand in braces, with sample values for the check of a file.
  static let placeholders = Dictionary(
    uniqueKeysWithValues: [
      "chirrup", "scratch", "folder", "certificate", "key", "port", "port+1", "port+2", "port+3",
      "database", "role", "count",
    ].map { ($0, "1") })

  /// In the order of the file.
  var columns: [String] {
    servers.reduce(into: []) { if !$0.contains($1.column) { $0.append($1.column) } }
  }

  /// The servers that can do the work. For TLS a column may have a separate process.
  func servers(for work: WorkPlan) -> [ServerPlan] {
    servers.filter { server in
      let isAsked = work.servers?.contains(server.column) ?? !server.isApart
      return isAsked && server.isSecure == work.tls && server.arguments(for: work) != nil
    }
  }

  func servers(for work: WorkPlan, column: String) -> [ServerPlan] {
    servers(for: work).filter { $0.column == column }
  }
}

/// A piece of work: a row of the table.
struct WorkPlan: Decodable, Equatable {
  enum Kind: String, Codable, CaseIterable {
    case echo, fanout, upgrade, idle, chat, durable, growth

    /// The unit of the processor time.
    var unit: String {
      switch self {
      case .echo: "message"
      case .fanout: "delivery"
      case .upgrade: "handshake"
      case .idle: "connection"
      case .chat, .durable: "committed message"
      case .growth: "delivery among rooms of more and more connections"
      }
    }

    /// Whether each turn needs a new server process: for memory, which a process does not give
    /// back, and for work that must not include the sessions of other work.
    var needsFreshServer: Bool { self == .idle || isOfTheGateway }

    /// Whether only a chirrup gateway, or a server with its protocol, can do it.
    var isOfTheGateway: Bool { self == .chat || self == .durable || self == .growth }

    /// PostgreSQL does most of the work, so processes are not prioritised, and not pinned unless
    /// the work is `split`.
    var sharesCores: Bool { self == .durable || self == .chat }
  }

  var name: String
  var kind: Kind
  var tls: Bool
  /// For `upgrade` and `idle`: each connection sends hello and subscribes, instead of using the
  /// echo.
  var subscribes: Bool
  /// For `chat`: the server on its core, its PostgreSQL and the client on the client's.
  var isSplit: Bool
  /// The columns that take part; nil for all servers that are not `apart`.
  var servers: [String]?
  /// Overrides the plan's number.
  var rounds: Int?
  var options: [String: String]
  var goals: [Goal]

  enum CodingKeys: String, CodingKey, CaseIterable {
    case name, kind, tls, subscribes, servers, rounds, options, goals
    case isSplit = "split"
  }

  init(from decoder: any Decoder) throws {
    try refuseUnknownKeys(decoder, CodingKeys.self)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    name = try values.decode(String.self, forKey: .name)
    kind = try values.decode(Kind.self, forKey: .kind)
    tls = try values.decodeIfPresent(Bool.self, forKey: .tls) ?? false
    subscribes = try values.decodeIfPresent(Bool.self, forKey: .subscribes) ?? false
    guard !subscribes || kind == .upgrade || kind == .idle else {
      throw PlanFailure("\(name): only upgrade and idle have subscribes")
    }
    isSplit = try values.decodeIfPresent(Bool.self, forKey: .isSplit) ?? false
    guard !isSplit || kind == .chat else { throw PlanFailure("\(name): only chat has split") }
    servers = try values.decodeIfPresent([String].self, forKey: .servers)
    rounds = try values.decodeIfPresent(Int.self, forKey: .rounds)
    options =
      (try values.decodeIfPresent([String: Scalar].self, forKey: .options) ?? [:])
      .mapValues(\.text)
    goals = try values.decodeIfPresent([Goal].self, forKey: .goals) ?? []
  }
}

struct PlanFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  /// A decoding error as a sentence with its position in the file.
  static func text(_ error: any Error) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    let context: DecodingError.Context
    switch error {
    case .typeMismatch(_, let found), .valueNotFound(_, let found), .keyNotFound(_, let found),
      .dataCorrupted(let found):
      context = found
    @unknown default: return "\(error)"
    }
    let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }
    let cause = context.underlyingError.map { " (\(text($0)))" } ?? ""
    return "\(path.joined().drop { $0 == "." }): \(context.debugDescription)\(cause)"
  }
}

/// A number, a text or a boolean, in the form of a command-line argument.
private struct Scalar: Decodable {
  let text: String

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let whole = try? value.decode(Int.self) {
      text = String(whole)
    } else if let number = try? value.decode(Double.self) {
      text = String(number)
    } else {
      text = try value.decode(String.self)
    }
  }
}

func refuseUnknownKeys<Key: CodingKey & CaseIterable>(
  _ decoder: any Decoder, _ keys: Key.Type
) throws {
  let known = keys.allCases.map(\.stringValue)
  for key in try decoder.container(keyedBy: AnyKey.self).allKeys
  where !known.contains(key.stringValue) {
    throw DecodingError.dataCorrupted(
      DecodingError.Context(
        codingPath: decoder.codingPath,
        debugDescription:
          "unknown key \"\(key.stringValue)\"; known: \(known.joined(separator: ", "))"))
  }
}

private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

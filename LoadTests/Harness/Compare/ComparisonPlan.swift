/// What is compared: servers, the work they do in turns, and the goals, as a YAML file has them
/// (LoadTests/Peers/speed.yaml is the documented example).
///
/// A key that is not known is an error: a goal with a slip of the pen must not pass unseen.
import Foundation
import Yams

struct ComparisonPlan: Decodable, Equatable {
  /// Each does all of a work's servers once.
  var rounds: Int
  /// The column that is divided by the others.
  var subject: String
  /// Options of `chirrup-load KIND`, by kind, for all work of it.
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
        throw PlanFailure("options: there is no work \"\(name)\"")
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
        throw PlanFailure("\"\(name)\" is there twice")
      }
    }
    guard columns.contains(subject) else { throw PlanFailure("no server is \"\(subject)\"") }
    for server in servers { _ = try server.expanded(ComparisonPlan.placeholders) }
    for work in work {
      if let stranger = work.servers?.first(where: { !columns.contains($0) }) {
        throw PlanFailure("\(work.name): there is no server \"\(stranger)\"")
      }
      for goal in work.goals {
        if let peer = goal.against, peer == subject || !columns.contains(peer) {
          throw PlanFailure("\(work.name): a goal against \"\(peer)\", which is no other server")
        }
      }
      for column in columns where servers(for: work, column: column).count > 1 {
        throw PlanFailure("\(work.name): two servers of the column \"\(column)\" could do it")
      }
    }
  }

  /// What can stand in braces, with values that only show that a file names nothing else.
  static let placeholders = Dictionary(
    uniqueKeysWithValues: [
      "chirrup", "scratch", "folder", "certificate", "key", "port", "port+1", "port+2", "port+3",
    ].map { ($0, "1") })

  /// In the order of the file.
  var columns: [String] {
    servers.reduce(into: []) { if !$0.contains($1.column) { $0.append($1.column) } }
  }

  /// Those that can do it. Over TLS work goes to other processes, which share a column.
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

/// One piece of work, a row of the table.
struct WorkPlan: Decodable, Equatable {
  enum Kind: String, Codable, CaseIterable {
    case echo, fanout, upgrade, idle, chat, durable, growth

    /// What the processor time is divided by.
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

    /// Memory shows only in a process that has never had more, and the sessions of other work are
    /// work for the gateway too.
    var needsFreshServer: Bool { self == .idle || isOfTheGateway }

    /// What only a gateway can do.
    var isOfTheGateway: Bool { self == .chat || self == .durable || self == .growth }

    /// PostgreSQL does most of it: nobody is moved, and nobody comes before it.
    var sharesCores: Bool { self == .durable || self == .chat }
  }

  var name: String
  var kind: Kind
  var tls: Bool
  /// Each connection says hello with a token and follows a session, where `upgrade` and `idle`
  /// would go to the echo.
  var subscribes: Bool
  /// Columns that take part, instead of all whose servers are not apart.
  var servers: [String]?
  /// Instead of the plan's.
  var rounds: Int?
  var options: [String: String]
  var goals: [Goal]

  enum CodingKeys: String, CodingKey, CaseIterable {
    case name, kind, tls, subscribes, servers, rounds, options, goals
  }

  init(from decoder: any Decoder) throws {
    try refuseUnknownKeys(decoder, CodingKeys.self)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    name = try values.decode(String.self, forKey: .name)
    kind = try values.decode(Kind.self, forKey: .kind)
    tls = try values.decodeIfPresent(Bool.self, forKey: .tls) ?? false
    subscribes = try values.decodeIfPresent(Bool.self, forKey: .subscribes) ?? false
    guard !subscribes || kind == .upgrade || kind == .idle else {
      throw PlanFailure("\(name): only upgrade and idle can be told to subscribe")
    }
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

  /// Decoding errors as a sentence with the place in the file.
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

/// A number, a word or a truth, as it is typed on a command line.
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
          "there is no key \"\(key.stringValue)\"; known are \(known.joined(separator: ", "))"))
  }
}

private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

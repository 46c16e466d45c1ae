/// The fixture of the API's tests: a workspace for each test (`Workplace`) with an API
/// in front of it.
import Attachments
import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import REST
import Testing
import Tokens

struct World {
  static let password = Workplace.password
  static let passwordHash = Workplace.passwordHash
  static let now = Workplace.now

  let api: API
  let place: Workplace
  let tokens: TokenAuthority
  var database: Workers { place.database }
  var sessions: RecordingSessions { place.sessions }
  var workspace: Workspace { place.workspace }
  var mika: Operator { place.mika }

  /// The tests share a database, and so its key for push messages, which these secrets open.
  static var options: APIOptions {
    var options = APIOptions()
    options.secrets = SecretBox(configured: ["of these tests"], signingKey: [])
    options.attachments = AttachmentFiles(
      folder: FileManager.default.temporaryDirectory.path + "/chirrup-rest-\(UUID())")
    return options
  }

  init(_ options: APIOptions = World.options, origins: [String]? = nil) async throws {
    place = try await Workplace()
    tokens = TokenAuthority(secret: Array(repeating: 7, count: 32))
    api = API(
      database: place.database, sessions: place.sessions, tokens: tokens, options: options)
    if let origins {
      try await place.database.ask(Workspace.setOrigins(place.id, origins))
    }
  }

  static func identifier() -> Identifier { Workplace.identifier() }

  static func addOperator(
    _ name: String, to workspace: Workspace, _ database: Workers
  ) async throws -> Operator {
    try await Workplace.addOperator(name, to: workspace, database)
  }

  var actor: AuditActor { place.actor }

  func bearer(_ member: Operator, now: WallTime = World.now) throws -> String {
    let principal = Principal.operator(
      id: member.id, workspace: member.workspace, name: member.name, role: member.membership)
    return "Bearer " + (try tokens.issue(principal, lifetimeSeconds: 3600, now: now).token)
  }

  /// A request of an operator by bearer token; of Mika when nobody is named.
  func call(
    _ method: String, _ path: String, as member: Operator? = nil, json: String? = nil,
    now: WallTime = World.now
  ) async throws -> Answer {
    var headers = [("Authorization", try bearer(member ?? mika, now: now))]
    if json != nil { headers.append(("Content-Type", "application/json")) }
    return await send(method, path, headers, json, now: now)
  }

  /// A request as it stands.
  func send(
    _ method: String, _ path: String, _ headers: [(String, String)] = [], _ body: String? = nil,
    peer: String = "192.0.2.1", now: WallTime = World.now, isSecure: Bool = false
  ) async -> Answer {
    let parts = path.split(separator: "?", maxSplits: 1)
    let request = APIRequest(
      method: method, path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "",
      headers: headers.map { (name: $0.0, value: $0.1) }, body: Array((body ?? "").utf8),
      peer: peer, now: now, isSecure: isSecure)
    let response = await api.handle(request)
    if let fault = Promises.fault(method, String(parts[0]), response) {
      Issue.record("\(method) \(path), \(response.status): \(fault)")
    }
    return Answer(response)
  }

  /// A visitor's conversation, waiting, with `messages` in it.
  func conversation(
    visitor: String = "Ada", title: String = "", messages: [String] = []
  ) async throws -> Identifier {
    try await place.conversation(visitor: visitor, title: title, messages: messages)
  }
}

/// An answer of the API as a client sees it.
struct Answer: @unchecked Sendable {
  let response: APIResponse
  // SAFETY: only property-list values, never changed after `init`.
  let json: [String: Any]

  init(_ response: APIResponse) {
    self.response = response
    let object = try? JSONSerialization.jsonObject(with: Data(response.body))
    json = object as? [String: Any] ?? [:]
  }

  var status: Int { response.status }
  var body: String { String(decoding: response.body, as: UTF8.self) }

  func header(_ name: String) -> String? {
    response.headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The last part of a problem's `type`.
  var problem: String? {
    string("type").map { String($0.split(separator: ":").last ?? "") }
  }

  /// A value by its path, such as `conversation.visitor.name`.
  subscript(_ path: String) -> Any? {
    var value: Any? = json
    for name in path.split(separator: ".") { value = (value as? [String: Any])?[String(name)] }
    return value is NSNull ? nil : value
  }

  func string(_ path: String) -> String? { self[path] as? String }
  func int(_ path: String) -> Int? { self[path] as? Int }
  func objects(_ path: String) -> [[String: Any]] { self[path] as? [[String: Any]] ?? [] }
}

let conversations = "/api/v1/admin/live-chat/conversations"

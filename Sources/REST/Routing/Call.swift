/// A request with its identified caller and the parameters of its path.
import Chat
import Directory
import Kernel
import Primitives

/// The role of a member. Each role may do what the roles before it may.
enum Membership: String, CaseIterable, Comparable, Sendable {
  case agent, admin, owner

  static func < (left: Membership, right: Membership) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .agent: 0
    case .admin: 1
    case .owner: 2
    }
  }
}

/// A permission of an API key.
enum KeyScope: String, CaseIterable, Sendable {
  case conversationsRead = "conversations:read"
  case conversationsWrite = "conversations:write"
  case settingsRead = "settings:read"
  case settingsWrite = "settings:write"
  case membersRead = "members:read"
  case membersInvite = "members:invite"
  case membersManage = "members:manage"
  case visitorsRead = "visitors:read"
  case visitorsWrite = "visitors:write"
  case analyticsRead = "analytics:read"
  case webhooksRead = "webhooks:read"
  case webhooksWrite = "webhooks:write"
  case auditRead = "audit:read"
}

/// A member of a workspace, or a server with an API key of the workspace.
enum Caller: Sendable {
  case member(Operator)
  case key(APIKey)

  var workspace: Identifier {
    switch self {
    case .member(let member): member.workspace
    case .key(let key): key.workspace
    }
  }

  var id: Identifier {
    switch self {
    case .member(let member): member.id
    case .key(let key): key.id
    }
  }

  var name: String {
    switch self {
    case .member(let member): member.name
    case .key(let key): key.name
    }
  }

  /// The role in which the caller writes messages: a server writes as a bot with the key's name.
  var senderRole: Role {
    switch self {
    case .member: .operator_
    case .key: .bot
    }
  }

  /// The author of changes in the audit log.
  var actor: AuditActor {
    switch self {
    case .member(let member):
      AuditActor(workspace: member.workspace, id: member.id, kind: "operator")
    case .key(let key): AuditActor(workspace: key.workspace, id: key.id, kind: "api_key")
    }
  }

  /// A key may do what administrators may, within its scopes, and nothing that requires an owner.
  /// `reach` limits it further.
  var membership: Membership {
    switch self {
    case .member(let member): Membership(rawValue: member.membership) ?? .agent
    case .key: .admin
    }
  }
}

/// A request of a member or an API key that may use the route.
struct Call: Sendable {
  var request: APIRequest
  var caller: Caller
  var parameters: PathParameters

  var workspace: Identifier { caller.workspace }

  var actor: AuditActor { caller.actor }

  /// The `{id}` of the path.
  var id: Identifier { parameters.id("id") }

  /// The operator who sends the request. Routes without a scope have no other callers.
  var member: Operator {
    get throws(Problem) {
      guard case .member(let member) = caller else { throw .operatorsOnly }
      return member
    }
  }

  /// A new id of the current time.
  func newID() -> Identifier { .random(at: request.now) }
}

/// A request of a visitor with the widget's token.
struct VisitorCall: Sendable {
  var request: APIRequest
  var visitor: Identifier
  /// The visitor in the token: `visitor`, or one that was merged into this one.
  var tokenVisitor: Identifier
  var workspace: Identifier
  /// The conversations to which the token gives access.
  var sessions: [Identifier]
  var name: String
  var parameters: PathParameters
}

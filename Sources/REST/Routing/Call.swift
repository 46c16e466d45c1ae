/// A request together with who calls: what the route and the authentication found out.
import Chat
import Directory
import Primitives

/// Who may do what in a workspace; each role may do what those below may.
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

/// What an API key may be allowed.
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

/// A member of a workspace, or a server with a key of it.
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

  /// In whose part it writes: a server speaks as a bot that has the key's name.
  var role: Role {
    switch self {
    case .member: .operator_
    case .key: .bot
    }
  }

  /// As `audit_log.actor` has it.
  var actor: String {
    switch self {
    case .member: "operator"
    case .key: "api_key"
    }
  }

  /// A key does what administrators do, within its scopes, and never what takes an owner; it
  /// reaches fewer members (`reach`).
  var membership: Membership {
    switch self {
    case .member(let member): Membership(rawValue: member.membership) ?? .agent
    case .key: .admin
    }
  }
}

/// A request of a member or an API key, who may call the route.
struct Call: Sendable {
  var request: APIRequest
  var caller: Caller
  var parameters: PathParameters

  var workspace: Identifier { caller.workspace }

  /// The `{id}` of the path.
  var session: Identifier { parameters.id("id") }

  /// The operator who calls. Routes without a scope are called by nobody else.
  var member: Operator {
    get throws(Problem) {
      guard case .member(let member) = caller else { throw .operatorsOnly }
      return member
    }
  }
}

/// A request of a visitor by the token of the widget.
struct VisitorCall: Sendable {
  var request: APIRequest
  var visitor: Identifier
  var workspace: Identifier
  /// The conversations that the token opens.
  var sessions: [Identifier]
  var name: String
  var parameters: PathParameters
}

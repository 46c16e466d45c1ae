/// Lines of the structured log about access: logins, failures, ended logins, changes of rights and
/// of keys. The audit log has them too, except refusals that concern no account. No line has a
/// secret; an address is that of the rate limits (of IPv6 the /64 prefix).
import Directory
import Primitives

public struct SecurityEvent: Sendable {
  /// As the action in the audit log, such as `login.failed`.
  public var name: String
  public var isRefusal: Bool
  public var fields: [(name: String, value: String)]
}

extension API {
  func note(
    _ name: String, isRefusal: Bool = false, account: Operator? = nil,
    workspace: Identifier? = nil, reason: String? = nil, _ request: APIRequest
  ) {
    var fields = [(name: "peer", value: request.peer)]
    if let account {
      fields.append(("operator", account.id.description))
    }
    if let workspace = account?.workspace ?? workspace {
      fields.append(("workspace", workspace.description))
    }
    if let reason { fields.append(("reason", reason)) }
    options.onSecurityEvent(SecurityEvent(name: name, isRefusal: isRefusal, fields: fields))
  }

  /// A change that a member or an API key has made.
  func note(_ name: String, _ call: Call) {
    let actor = call.actor
    var fields = [
      (name: "peer", value: call.request.peer), ("actor", actor.kind),
      ("workspace", actor.workspace.description),
    ]
    if let id = actor.id { fields.append(("actor_id", id.description)) }
    if let target = call.parameters.ids["id"] { fields.append(("target", target.description)) }
    options.onSecurityEvent(SecurityEvent(name: name, isRefusal: false, fields: fields))
  }
}

public import Postgres
public import Primitives

/// The author of a change: the columns `workspace_id`, `actor_id` and `actor` of `audit_log`.
public struct AuditActor: Sendable, Equatable {
  public var workspace: Identifier
  /// The id of an operator or an API key.
  public var id: Identifier
  /// `operator` or `api_key`.
  public var kind: String

  public init(workspace: Identifier, id: Identifier, kind: String) {
    self.workspace = workspace
    self.id = id
    self.kind = kind
  }

  /// `$1`, `$2` and `$3` of each statement that changes something and adds a row to `audit_log`.
  public var parameters: [Parameter] { [.uuid(workspace), .uuid(id), .text(kind)] }
}

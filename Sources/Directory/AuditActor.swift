public import Postgres
public import Primitives

/// The author of a change: the columns `workspace_id`, `actor_id` and `actor` of `audit_log`.
public struct AuditActor: Sendable, Equatable {
  public var workspace: Identifier
  /// The id of an operator or an API key; nil for the command line.
  public var id: Identifier?
  /// `operator`, `api_key` or `command`.
  public var kind: String

  public init(workspace: Identifier, id: Identifier?, kind: String) {
    self.workspace = workspace
    self.id = id
    self.kind = kind
  }

  public static func command(in workspace: Identifier) -> AuditActor {
    AuditActor(workspace: workspace, id: nil, kind: "command")
  }

  /// `$1`, `$2` and `$3` of each statement that changes something and adds a row to `audit_log`.
  public var parameters: [Parameter] { [.uuid(workspace), .uuid(id), .text(kind)] }
}

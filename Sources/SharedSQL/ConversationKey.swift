public import Postgres

/// A condition on a conversation that is found by its id.
public enum ConversationKey {
  /// It is not deleted.
  ///
  /// A condition inside a CASE implies none of the partial indexes. They begin with the workspace
  /// and lack the id, and as long as the planner believes the table to be small, it would read all
  /// conversations of a workspace through one of them.
  public static func isKept(_ s: SQL) -> SQL {
    "CASE WHEN \(s).deleted_at IS NULL THEN true ELSE false END"
  }
}

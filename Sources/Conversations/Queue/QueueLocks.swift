/// Which rows whoever moves a conversation locks, in this order: the line, memberships, then the
/// rows of conversations.
import Postgres
import Primitives

extension Lock {
  /// Whoever takes a conversation for this operator, or gives one, does it under this lock: the
  /// count of those that the operator has stays true until it is over.
  static func membership(of member: Identifier, in workspace: Identifier) -> Lock {
    Lock(
      """
      SELECT FROM memberships WHERE workspace_id = $1::uuid AND operator_id = $2::uuid
      FOR NO KEY UPDATE
      """, [.uuid(workspace), .uuid(member)])
  }

  /// Whoever takes from the front of the line. It ends with the transaction, and comes before
  /// memberships and rows of conversations.
  static func line(of workspace: Identifier) -> Lock {
    Lock(
      "SELECT pg_advisory_xact_lock(hashtextextended('chirrup line ' || $1::uuid::text, 0))",
      [.uuid(workspace)])
  }

  /// The memberships of all who may be given something, in the order of their ids.
  static func present(in workspace: Identifier) -> Lock {
    Lock(
      """
      SELECT FROM memberships m JOIN operator_presence p
        ON p.workspace_id = m.workspace_id AND p.operator_id = m.operator_id
      WHERE m.workspace_id = $1::uuid AND p.is_available
        AND chirrup_is_present(p.seen_at)
      ORDER BY m.operator_id FOR NO KEY UPDATE OF m
      """, [.uuid(workspace)])
  }
}

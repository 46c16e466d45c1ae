/// The locks of a change of operator, in this order: the members, the queue, memberships, rows of
/// conversations.
import Postgres
import Primitives

extension Lock {
  /// Serialises changes of members, so that each sees the owners whom the others left.
  static func members(of workspace: Identifier) -> Lock {
    Lock(
      "SELECT pg_advisory_xact_lock(hashtextextended('chirrup members ' || $1::uuid::text, 0))",
      [.uuid(workspace)])
  }

  /// Keeps the number of the operator's conversations constant until the transaction ends.
  static func membership(of member: Identifier, in workspace: Identifier) -> Lock {
    Lock(
      """
      SELECT FROM memberships WHERE workspace_id = $1::uuid AND operator_id = $2::uuid
      FOR NO KEY UPDATE
      """, [.uuid(workspace), .uuid(member)])
  }

  /// Serialises transactions that take the next conversation of the queue.
  static func queue(of workspace: Identifier) -> Lock {
    Lock(
      "SELECT pg_advisory_xact_lock(hashtextextended('chirrup line ' || $1::uuid::text, 0))",
      [.uuid(workspace)])
  }

  /// The memberships of all available operators, in the order of their ids.
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

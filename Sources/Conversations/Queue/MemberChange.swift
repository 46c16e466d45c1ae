public import Directory
import Postgres
public import Primitives

/// A change or the removal of a member. If the member is removed or disabled, their conversations
/// return to the queue in the same transaction.
public struct MemberChange: Sendable {
  // Nil: no change.
  var name: String?
  var role: String?
  var isDisabled: Bool?
  var passwordHash: String?
  var isRemoval: Bool

  public init(
    name: String? = nil, role: String? = nil, isDisabled: Bool? = nil,
    passwordHash: String? = nil, isRemoval: Bool = false
  ) {
    self.name = name
    self.role = role
    self.isDisabled = isDisabled
    self.passwordHash = passwordHash
    self.isRemoval = isRemoval
  }

  /// The answer is nil if the workspace has no such member. `word` is `done`, or the refusal:
  /// `beyond_reach` (a role outside `reachedRoles`), `last_owner` or `shared` (the account belongs
  /// to another workspace too). `freed` are the conversations that returned to the queue.
  ///
  /// - Parameter reachedRoles: the roles that the author may assign and change, space-separated.
  public func statement(
    of member: Identifier, reachedRoles: String, by author: AuditActor
  ) -> Statement<(word: String, freed: [Identifier])?> {
    Statement(
      Query(
        MemberChange.sql,
        author.parameters + [
          .uuid(member), .text(name), .text(role), isDisabled.map { .bool($0) } ?? .null,
          .text(passwordHash), .text(reachedRoles), .bool(isRemoval),
        ]
      ).after(.members(of: author.workspace), .membership(of: member, in: author.workspace))
    ) { rows in
      guard !rows.isEmpty, let word = rows.text(0, 0) else { return nil }
      let freed = (rows.text(0, 1) ?? "").split(separator: " ")
      return (word, freed.compactMap { Identifier(String($0)) })
    }
  }

  /// The lock of the members keeps two owners from demoting each other at the same time.
  private static let sql: StaticString = """
    WITH owners AS (
      SELECT m.operator_id FROM memberships m JOIN operators o ON o.id = m.operator_id
      WHERE m.workspace_id = $1::uuid AND m.role = 'owner' AND o.disabled_at IS NULL
    ), target AS (
      SELECT m.operator_id AS id, m.role, EXISTS (SELECT FROM memberships x
        WHERE x.operator_id = m.operator_id AND x.workspace_id <> $1::uuid) AS is_shared
      FROM memberships m WHERE m.workspace_id = $1::uuid AND m.operator_id = $4::uuid
    ), verdict AS (
      SELECT t.id, t.is_shared, coalesce($7::boolean, false) OR $10::boolean AS leaves, CASE
        WHEN t.role <> ALL (string_to_array($9::text, ' '))
          OR $6::text <> ALL (string_to_array($9::text, ' ')) THEN 'beyond_reach'
        WHEN t.role = 'owner' AND ($6::text <> 'owner' OR $7::boolean OR $10::boolean)
          AND NOT EXISTS (SELECT FROM owners w WHERE w.operator_id <> t.id) THEN 'last_owner'
        WHEN t.is_shared AND ($5::text IS NOT NULL OR $7::boolean IS NOT NULL
          OR $8::text IS NOT NULL) THEN 'shared'
        ELSE 'done' END AS word
      FROM target t
    ), joined AS (
      UPDATE memberships m SET role = $6::text FROM verdict v
      WHERE v.word = 'done' AND m.workspace_id = $1::uuid AND m.operator_id = v.id
        AND $6::text IS NOT NULL
    ), changed AS (
      UPDATE operators o SET name = coalesce($5::text, o.name),
        password_hash = coalesce($8::text, o.password_hash),
        must_change_password = o.must_change_password OR $8::text IS NOT NULL,
        disabled_at = CASE WHEN $7::boolean IS NULL THEN o.disabled_at
          WHEN $7::boolean THEN coalesce(o.disabled_at, now()) END
      FROM verdict v WHERE v.word = 'done' AND NOT $10::boolean AND o.id = v.id
    ), held AS (
      SELECT s.id, v.id AS member, o.name
      FROM verdict v JOIN operators o ON o.id = v.id
        JOIN chat_sessions s ON s.assigned_operator_id = v.id
      WHERE v.word = 'done' AND v.leaves AND s.workspace_id = $1::uuid AND s.status = 'active'
        AND s.deleted_at IS NULL
      ORDER BY s.id FOR UPDATE OF s
    ), freed AS MATERIALIZED (
      SELECT h.id FROM held h WHERE chirrup_change(
        $1::uuid, h.id, 'unassigned', NULL, NULL, NULL, NULL, gen_random_uuid(),
        h.name || ' is gone; the conversation waits for the next operator',
        jsonb_build_object('event', 'unassigned', 'reason', 'operator_gone',
          'from', jsonb_build_object('id', h.member, 'name', h.name)))
    ), ended AS (
      DELETE FROM operator_sessions s USING verdict v
      WHERE v.word = 'done' AND s.operator_id = v.id AND ($7::boolean OR $8::text IS NOT NULL
        OR $10::boolean AND s.workspace_id = $1::uuid)
    ), gone AS (
      DELETE FROM memberships m USING verdict v WHERE v.word = 'done' AND $10::boolean
        AND m.workspace_id = $1::uuid AND m.operator_id = v.id
    ), closed AS (
      DELETE FROM operators o USING verdict v
      WHERE v.word = 'done' AND $10::boolean AND NOT v.is_shared AND o.id = v.id
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
      SELECT $1::uuid, $2::uuid, $3::text,
        CASE WHEN $10::boolean THEN 'member.removed' ELSE 'member.changed' END, v.id,
        jsonb_strip_nulls(jsonb_build_object('role', $6::text, 'disabled', $7::boolean,
          'name', CASE WHEN $5::text IS NOT NULL THEN true END,
          'password', CASE WHEN $8::text IS NOT NULL THEN true END,
          'conversations', CASE WHEN v.leaves THEN (SELECT count(*) FROM freed) END))
      FROM verdict v WHERE v.word = 'done'
    )
    SELECT word, (SELECT string_agg(id::text, ' ') FROM freed) FROM verdict
    """
}

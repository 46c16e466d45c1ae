import Postgres
public import Primitives

/// The presence of operators on all gateways. Every few seconds each gateway writes which operators
/// have an open inbox (`beat`); an operator seen within 15 seconds is online. So a crashed gateway
/// needs no cleanup, and a reconnect causes no absence.
public struct OperatorPresence: Sendable, Equatable {
  public var isOnline = false
  /// Online and accepts new conversations.
  public var isAvailable = false
  /// The operator's open conversations.
  public var load: Int64 = 0
}

extension OperatorPresence {
  /// The interval of beats. The 15 seconds of `chirrup_is_present` tolerate two missed beats.
  public static let beatMilliseconds: Int64 = 5_000

  /// Marks these operators as present. Returns the workspaces in which an operator came online.
  /// After an hour of absence an operator is available again.
  ///
  /// - Parameter visible: those of them who see a console.
  public static func beat(
    _ here: [(workspace: Identifier, operator: Identifier)],
    visible: [(workspace: Identifier, operator: Identifier)] = []
  ) -> Statement<[Identifier]> {
    Statement(
      Query(
        """
        WITH here AS (
          SELECT m.workspace_id, m.operator_id,
            coalesce(NOT chirrup_is_present(p.seen_at), true) AS is_new,
            EXISTS (SELECT FROM unnest($3::uuid[], $4::uuid[]) AS v (workspace, operator)
              WHERE v.workspace = t.workspace AND v.operator = t.operator) AS is_active
          FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace, operator)
          JOIN memberships m ON m.workspace_id = t.workspace AND m.operator_id = t.operator
          LEFT JOIN operator_presence p
            ON p.workspace_id = m.workspace_id AND p.operator_id = m.operator_id
        ), beaten AS (
          INSERT INTO operator_presence AS p (workspace_id, operator_id, active_at)
          SELECT workspace_id, operator_id, CASE WHEN is_active THEN now() END
          FROM here ORDER BY workspace_id, operator_id
          ON CONFLICT (workspace_id, operator_id) DO UPDATE SET seen_at = now(),
            active_at = coalesce(excluded.active_at, p.active_at),
            is_available = p.is_available OR p.seen_at < now() - interval '1 hour'
        )
        SELECT DISTINCT workspace_id FROM here WHERE is_new
        """,
        [
          .uuids(here.map(\.workspace)), .uuids(here.map(\.operator)),
          .uuids(visible.map(\.workspace)), .uuids(visible.map(\.operator)),
        ])
    ) { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } }
  }

  /// Notes that these operators see no console any more on this loop. A beat of another loop or
  /// gateway with a visible one revokes it.
  public static func hide(
    _ gone: [(workspace: Identifier, operator: Identifier)]
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        UPDATE operator_presence p SET hidden_at = now()
        FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace, operator)
        WHERE p.workspace_id = t.workspace AND p.operator_id = t.operator
        """, [.uuids(gone.map(\.workspace)), .uuids(gone.map(\.operator))]))
  }

  /// Notes that these operators have no open inbox left on this loop. A beat of another loop or
  /// gateway revokes it.
  public static func leave(
    _ gone: [(workspace: Identifier, operator: Identifier)]
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        UPDATE operator_presence p SET left_at = now()
        FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace, operator)
        WHERE p.workspace_id = t.workspace AND p.operator_id = t.operator
        """, [.uuids(gone.map(\.workspace)), .uuids(gone.map(\.operator))]))
  }

  /// Which of these operators are away: unseen for 15 seconds, or gone for longer than another
  /// gateway, or the reload of a console, needs to report them present again. An operator who never
  /// had an inbox open is not away.
  public static func away(
    of operators: [(workspace: Identifier, operator: Identifier)]
  ) -> Statement<[(workspace: Identifier, operator: Identifier)]> {
    Statement(
      Query(
        """
        SELECT p.workspace_id, p.operator_id
        FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace, operator)
        JOIN operator_presence p ON p.workspace_id = t.workspace AND p.operator_id = t.operator
        WHERE NOT chirrup_is_present(p.seen_at)
          OR p.left_at >= p.seen_at AND p.left_at < now() - interval '6 seconds'
        """, [.uuids(operators.map(\.workspace)), .uuids(operators.map(\.operator))])
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let workspace = rows.uuid(row, 0), let member = rows.uuid(row, 1) else { return nil }
        return (workspace, member)
      }
    }
  }

  /// Sets whether the operator accepts new conversations, for all gateways.
  public static func setAvailable(
    _ id: Identifier, of workspace: Identifier, _ isAvailable: Bool
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO operator_presence AS p (workspace_id, operator_id, is_available)
        SELECT workspace_id, operator_id, $3::boolean FROM memberships
        WHERE workspace_id = $2::uuid AND operator_id = $1::uuid
        ON CONFLICT (workspace_id, operator_id) DO UPDATE SET is_available = excluded.is_available
        """, [.uuid(id), .uuid(workspace), .bool(isAvailable)]))
  }

  /// The presence of every member of a workspace.
  public static func members(
    of workspace: Identifier
  ) -> Statement<[Identifier: OperatorPresence]> {
    Statement(
      Query(
        """
        SELECT m.operator_id, p.seen_at IS NOT NULL, coalesce(p.is_available, false),
          (SELECT count(*) FROM chat_sessions s
            WHERE s.workspace_id = $1::uuid AND s.assigned_operator_id = m.operator_id
              AND s.status = 'active' AND s.deleted_at IS NULL)
        FROM memberships m
        LEFT JOIN operator_presence p ON p.workspace_id = m.workspace_id
          AND p.operator_id = m.operator_id AND chirrup_is_present(p.seen_at)
        WHERE m.workspace_id = $1::uuid
        """, [.uuid(workspace)])
    ) { rows in
      (0..<rows.count).reduce(into: [:]) { members, row in
        guard let id = rows.uuid(row, 0) else { return }
        members[id] = OperatorPresence(
          isOnline: rows.bool(row, 1) ?? false, isAvailable: rows.bool(row, 2) ?? false,
          load: rows.int(row, 3) ?? 0)
      }
    }
  }
}

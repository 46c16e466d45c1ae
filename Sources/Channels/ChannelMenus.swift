/// Which platforms' copies of menus are to be brought up to date (`channel_menus`, which triggers
/// of `rich_menus` and `credentials` fill), and what became of it.
import Postgres
import Primitives

enum ChannelMenus {
  struct Taken: Sendable, Equatable {
    var workspace: Identifier
    var channel: String
    /// Of this attempt.
    var lease: Identifier
    /// The version of `menu`. A change during the attempt makes a new version.
    var version: Int64
    var attempt: Int
    /// Nil: none is published.
    var menu: ChannelMenu?
  }

  /// Locks what is due. `take` follows as a statement of its own, so that it sees the menu of the
  /// locked row's version.
  static func lock(room: Int) -> Query {
    Query(
      """
      SELECT workspace_id, channel FROM channel_menus WHERE due_at <= now()
      ORDER BY due_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED
      """, [.int(Int64(room))])
  }

  static func take(
    _ workspace: Identifier, _ channel: String, lease: Identifier, leaseMilliseconds: Int64
  ) -> Query {
    Query(
      """
      WITH taken AS (
        UPDATE channel_menus SET lease = $3::uuid, attempts = attempts + 1,
          due_at = now() + $4::bigint * interval '1 millisecond'
        WHERE workspace_id = $1::uuid AND channel = $2::text
        RETURNING workspace_id, version, attempts
      )
      SELECT t.version, t.attempts, m.id, m.name, m.actions::text, m.image_url
      FROM taken t LEFT JOIN rich_menus m ON m.workspace_id = t.workspace_id
        AND m.status = 'published'
      ORDER BY m.id LIMIT 1
      """, [.uuid(workspace), .text(channel), .uuid(lease), .int(leaseMilliseconds)])
  }

  static func taken(
    _ rows: Rows, _ workspace: Identifier, _ channel: String, lease: Identifier
  ) -> Taken? {
    guard !rows.isEmpty, let version = rows.int(0, 0) else { return nil }
    let menu = rows.uuid(0, 2).map { id in
      ChannelMenu(
        id: id, name: rows.text(0, 3) ?? "", actions: rows.bytes(0, 4) ?? [],
        imageURL: rows.text(0, 5) ?? "")
    }
    return Taken(
      workspace: workspace, channel: channel, lease: lease, version: version,
      attempt: Int(rows.int(0, 1) ?? 1), menu: menu)
  }

  /// Before each step. No row: another gateway has taken over.
  static func keep(_ taken: Taken, leaseMilliseconds: Int64) -> Query {
    Query(
      """
      UPDATE channel_menus SET due_at = now() + $4::bigint * interval '1 millisecond'
      WHERE workspace_id = $1::uuid AND channel = $2::text AND lease = $3::uuid
      """,
      [
        .uuid(taken.workspace), .text(taken.channel), .uuid(taken.lease), .int(leaseMilliseconds),
      ])
  }

  /// Locks a workspace's menus, in the order of everybody who changes them: their rows come before
  /// that of `channel_menus`.
  static func lockMenus(of workspace: Identifier) -> Query {
    Query(
      "SELECT id FROM rich_menus WHERE workspace_id = $1::uuid ORDER BY id FOR UPDATE",
      [.uuid(workspace)])
  }

  /// Records an end. If something has changed since the start, only the lease ends.
  ///
  /// - Parameters:
  ///   - status: of the published menu; nil: as it is.
  ///   - others: of the menus that are no longer published but still pending; nil: as they are.
  ///   - milliseconds: the pause before the next attempt; nil: there is none.
  static func finish(
    _ taken: Taken, status: String?, others: String?, reason: String?, milliseconds: Int64?
  ) -> Query {
    Query(
      """
      WITH done AS (
        UPDATE channel_menus SET lease = NULL,
          attempts = CASE WHEN $8::bigint IS NULL THEN 0 ELSE attempts END,
          due_at = CASE WHEN version <> $4::bigint THEN now()
            ELSE now() + $8::bigint * interval '1 millisecond' END
        WHERE workspace_id = $1::uuid AND channel = $2::text AND lease = $3::uuid
        RETURNING version = $4::bigint AS is_current
      )
      UPDATE rich_menus m SET sync_status = s.status,
        sync_error = CASE WHEN s.status = 'failed' THEN $7::text END
      FROM done d, rich_menus o CROSS JOIN LATERAL (SELECT CASE
        WHEN o.status = 'published' THEN $5::text
        WHEN o.sync_status <> 'none' THEN $6::text END AS status) AS s
      WHERE d.is_current AND o.workspace_id = $1::uuid AND m.workspace_id = o.workspace_id
        AND m.id = o.id AND s.status IS NOT NULL
      """,
      [
        .uuid(taken.workspace), .text(taken.channel), .uuid(taken.lease), .int(taken.version),
        .text(status), .text(others), .text(reason), milliseconds.map { .int($0) } ?? .null,
      ])
  }

  /// Gives an attempt back that does not end here.
  static func release(_ taken: Taken) -> Query {
    Query(
      """
      UPDATE channel_menus SET lease = NULL, due_at = now()
      WHERE workspace_id = $1::uuid AND channel = $2::text AND lease = $3::uuid
      """, [.uuid(taken.workspace), .text(taken.channel), .uuid(taken.lease)])
  }
}

/// The menu bars of a workspace's widget (`rich_menus`), of which at most one is published.
public import Directory
public import Postgres
public import Primitives

public enum RichMenus {
  /// The most menus of one workspace.
  public static let countMax: Int64 = 100
  public static let statuses = ["draft", "published", "inactive"]
  /// Whether the copy of the published menu in another channel (LINE) is current. A trigger makes
  /// it `pending`; the channel worker writes the rest (`ChannelMenus`). `none`: there is no copy.
  public static let syncStatuses = ["none", "pending", "synced", "failed"]

  /// One page, oldest first. Columns: id, name, actions, image URL, status, sync status and error,
  /// creation time, time of the last change; then creation time (µs) and id as text.
  ///
  /// - Parameter last: the last row of the previous page; nil: the first page.
  public static func page(
    of workspace: Identifier, after last: ListPosition?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT m.id, m.name, m.actions::text, m.image_url, m.status, m.sync_status, m.sync_error,
        m.created_at, m.updated_at, (extract(epoch FROM m.created_at) * 1000000)::bigint::text,
        m.id::text
      FROM rich_menus m WHERE m.workspace_id = $1::uuid
        AND ($2::timestamptz IS NULL OR (m.created_at, m.id) > ($2::timestamptz, $3::uuid))
      ORDER BY m.created_at, m.id LIMIT $4::bigint
      """, [.uuid(workspace), .time(last?.at), .uuid(last?.id), .int(Int64(limit))])
  }

  /// Adds a menu. Columns as those of `page`, without the last two. A new published menu replaces
  /// the published one. No row if the workspace already has `countMax` menus.
  ///
  /// - Parameters:
  ///   - actions: a JSON array as text; nil: no actions.
  ///   - imageURL: the picture that LINE shows; nil or empty: none.
  ///   - status: nil: `draft`.
  public static func add(
    _ id: Identifier, name: String, actions: [UInt8]?, imageURL: String?, status: String?,
    by actor: AuditActor
  ) -> Query {
    Query(
      """
      WITH rested AS (
        UPDATE rich_menus SET status = 'inactive'
        WHERE workspace_id = $1::uuid AND status = 'published' AND $7::text = 'published'
          AND (SELECT count(*) FROM rich_menus WHERE workspace_id = $1::uuid) < $8::bigint
      ), made AS (
        INSERT INTO rich_menus (workspace_id, id, name, actions, status, image_url)
        SELECT $1::uuid, $4::uuid, $5::text, coalesce($6::jsonb, '[]'),
          coalesce($7::text, 'draft'), coalesce($9::text, '')
        WHERE (SELECT count(*) FROM rich_menus WHERE workspace_id = $1::uuid) < $8::bigint
        RETURNING id, name, actions::text, image_url, status, sync_status, sync_error, created_at,
          updated_at
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'rich_menu.added', id,
          jsonb_build_object('status', status)
        FROM made
      )
      SELECT * FROM made
      """,
      actor.parameters + [
        .uuid(id), .text(name), actions.map { .json($0) } ?? .null, .text(status), .int(countMax),
        .text(imageURL),
      ])
  }

  /// Changes the arguments that are not nil. Columns as those of `page`, without the last two. No
  /// row if the menu does not exist.
  ///
  /// Publishing a menu withdraws the published one. The statement locks that row first, so that of
  /// two menus published at the same time one remains.
  public static func change(
    _ id: Identifier, name: String?, actions: [UInt8]?, imageURL: String?, status: String?,
    by actor: AuditActor
  ) -> Query {
    Query(
      """
      WITH target AS (
        SELECT id FROM rich_menus WHERE workspace_id = $1::uuid
          AND (id = $4::uuid OR $7::text = 'published') ORDER BY id FOR UPDATE
      ), made AS (
        UPDATE rich_menus m SET name = coalesce($5::text, m.name),
          actions = coalesce($6::jsonb, m.actions), status = coalesce($7::text, m.status),
          image_url = coalesce($8::text, m.image_url)
        FROM target t WHERE m.workspace_id = $1::uuid AND m.id = t.id AND m.id = $4::uuid
        RETURNING m.id, m.name, m.actions::text, m.image_url, m.status, m.sync_status,
          m.sync_error, m.created_at, m.updated_at
      ), rested AS (
        UPDATE rich_menus m SET status = 'inactive' FROM target t, made
        WHERE m.workspace_id = $1::uuid AND m.id = t.id AND m.id <> made.id
          AND m.status = 'published' AND $7::text = 'published'
      ), noted AS (
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'rich_menu.changed', id,
          jsonb_build_object('status', status)
        FROM made
      )
      SELECT * FROM made
      """,
      actor.parameters + [
        .uuid(id), .text(name), actions.map { .json($0) } ?? .null, .text(status),
        .text(imageURL),
      ])
  }

  /// False if it does not exist.
  public static func delete(_ id: Identifier, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM rich_menus WHERE workspace_id = $1::uuid AND id = $4::uuid RETURNING id
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        SELECT $1::uuid, $2::uuid, $3::text, 'rich_menu.deleted', id FROM gone RETURNING id
        """, actor.parameters + [.uuid(id)])
    ) { !$0.isEmpty }
  }
}

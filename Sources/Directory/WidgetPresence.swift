import Postgres
public import Primitives

/// The current state of a workspace that the widget shows besides the settings.
public struct WidgetPresence: Sendable, Equatable {
  /// An operator is online and accepts new conversations.
  public var isSomebodyAvailable: Bool
  public var menu: Menu?

  /// The published menu of the widget.
  public struct Menu: Sendable, Equatable {
    public var id: Identifier
    /// A JSON array as text.
    public var actions: [UInt8]
  }

  public static func of(_ workspace: Identifier) -> Statement<WidgetPresence> {
    Statement(
      Query(
        """
        SELECT chirrup_is_anybody_available($1::uuid), menu.id, menu.actions::text
        FROM (SELECT) AS here LEFT JOIN (
          SELECT id, actions FROM rich_menus
          WHERE workspace_id = $1::uuid AND status = 'published'
          ORDER BY updated_at DESC, id LIMIT 1) AS menu ON true
        """, [.uuid(workspace)])
    ) { rows in
      guard !rows.isEmpty else { return WidgetPresence(isSomebodyAvailable: false) }
      return WidgetPresence(
        isSomebodyAvailable: rows.bool(0, 0) ?? false,
        menu: rows.uuid(0, 1).flatMap { id in
          rows.bytes(0, 2).map { Menu(id: id, actions: $0) }
        })
    }
  }
}

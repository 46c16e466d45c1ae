import Postgres
public import Primitives

/// A tenant. All other data belongs to exactly one workspace.
public struct Workspace: Sendable, Equatable {
  public var id: Identifier
  public var name: String
  /// The key in a website's snippet. Not a secret.
  public var publicKey: String
  /// The origins whose pages may open the widget; nil: all origins.
  public var allowedOrigins: [String]?
  /// The appearance of the widget: a JSON object as text.
  public var settings: [UInt8]

  public init(
    id: Identifier, name: String, publicKey: String, allowedOrigins: [String]?, settings: [UInt8]
  ) {
    self.id = id
    self.name = name
    self.publicKey = publicKey
    self.allowedOrigins = allowedOrigins
    self.settings = settings
  }
}

extension Workspace {
  /// The oldest workspace with this name.
  public static func named(_ name: String) -> Statement<Workspace?> {
    Statement(
      Query(
        """
        SELECT id, name, public_key, array_to_string(allowed_origins, E'\\n'), settings::text
        FROM workspaces WHERE name = $1::text ORDER BY created_at, id LIMIT 1
        """, [.text(name)])
    ) { Workspace($0) }
  }

  public static func withPublicKey(_ key: String) -> Statement<Workspace?> {
    Statement(
      Query(
        """
        SELECT id, name, public_key, array_to_string(allowed_origins, E'\\n'), settings::text
        FROM workspaces WHERE public_key = $1::text
        """, [.text(key)])
    ) { Workspace($0) }
  }

  public static func withID(_ id: Identifier) -> Statement<Workspace?> {
    Statement(
      Query(
        """
        SELECT id, name, public_key, array_to_string(allowed_origins, E'\\n'), settings::text
        FROM workspaces WHERE id = $1::uuid
        """, [.uuid(id)])
    ) { Workspace($0) }
  }

  /// Creates a workspace. Nil if the name is taken. The schema has no unique constraint on names
  /// (an adopted table may hold duplicates), so two concurrent calls may both succeed; `named` then
  /// finds the older one.
  public static func create(
    id: Identifier, name: String, publicKey: String, settings: String = "{}"
  ) -> Statement<Workspace?> {
    Statement(
      Query(
        """
        INSERT INTO workspaces (id, name, public_key, settings)
        SELECT $1::uuid, $2::text, $3::text, $4::jsonb
        WHERE NOT EXISTS (SELECT FROM workspaces WHERE name = $2::text)
        RETURNING id, name, public_key, array_to_string(allowed_origins, E'\\n'), settings::text
        """, [.uuid(id), .text(name), .text(publicKey), .json(Array(settings.utf8))])
    ) { Workspace($0) }
  }

  /// Sets the origins whose pages may open the widget; nil: those of the configuration.
  public static func setOrigins(_ id: Identifier, _ origins: [String]?) -> Statement<Void> {
    Statement(
      Query(
        """
        UPDATE workspaces SET allowed_origins = string_to_array($2::text, E'\\n')
        WHERE id = $1::uuid
        """, [.uuid(id), .text(origins?.joined(separator: "\n"))]))
  }

  /// The origins of all workspaces, at most `limit`, and whether a workspace has no list of its own
  /// (true without any workspace).
  public static func allOrigins(
    limit: Int
  ) -> Statement<(origins: [String], hasOpenWorkspace: Bool)> {
    Statement(
      Query(
        """
        SELECT array_to_string(ARRAY(
            SELECT DISTINCT unnest(allowed_origins) FROM workspaces LIMIT $1::bigint), E'\\n'),
          (SELECT coalesce(bool_or(allowed_origins IS NULL), true) FROM workspaces)
        """, [.int(Int64(limit))])
    ) { rows in
      guard !rows.isEmpty else { return ([], true) }
      let text = rows.text(0, 0) ?? ""
      return (text.split(separator: "\n").map { String($0) }, rows.bool(0, 1) ?? true)
    }
  }

  /// All workspaces by name, for the command line.
  public static func all() -> Statement<[(id: Identifier, name: String)]> {
    Statement(Query("SELECT id, name FROM workspaces ORDER BY name, id")) { rows in
      (0..<rows.count).compactMap { row in
        rows.uuid(row, 0).map { ($0, rows.text(row, 1) ?? "") }
      }
    }
  }

  private init?(_ rows: Rows) {
    guard !rows.isEmpty, let id = rows.uuid(0, 0), let name = rows.text(0, 1),
      let publicKey = rows.text(0, 2)
    else { return nil }
    let origins = rows.text(0, 3)?.split(separator: "\n").map { String($0) }
    self.init(
      id: id, name: name, publicKey: publicKey, allowedOrigins: origins,
      settings: rows.bytes(0, 4) ?? Array("{}".utf8))
  }
}

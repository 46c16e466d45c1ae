/// The messages whose content PostgreSQL refused. The gateway keeps them in the table `quarantine`;
/// here they are listed, marked as released, or deleted.
public import Postgres
public import Primitives

extension StoredData {
  /// A refused message and the reason. Its bytes may be invalid UTF-8.
  public struct Refused: Sendable, Equatable {
    public var workspace: Identifier
    public var workspaceName: String
    public var id: Identifier
    public var session: Identifier
    public var role: String
    public var kind: String
    public var sender: Identifier?
    public var senderName: [UInt8]
    public var body: [UInt8]
    public var payload: [UInt8]
    /// The SQLSTATE of the refusal.
    public var state: String
    public var reason: String
    /// The number of refusals: clients send a message again.
    public var count: Int64
    public var firstAt: WallTime
    public var lastAt: WallTime
  }

  /// Lists refused messages, the newest first; nil selects all workspaces or ids.
  public func refused(
    workspace: Identifier?, id: Identifier? = nil, limit: Int
  ) throws(QueryFailure) -> [Refused] {
    let rows = try connection.run(
      Query(
        """
        SELECT q.workspace_id, w.name, q.message_id, q.session_id, q.role, q.kind, q.sender_id,
          q.sender_name, q.body, q.payload, q.sqlstate, q.reason, q.refusals, q.created_at,
          q.refused_at
        FROM quarantine q JOIN workspaces w ON w.id = q.workspace_id
        WHERE ($1::uuid IS NULL OR q.workspace_id = $1::uuid)
          AND ($2::uuid IS NULL OR q.message_id = $2::uuid)
        ORDER BY q.refused_at DESC, q.message_id LIMIT $3
        """, [.uuid(workspace), .uuid(id), .int(Int64(limit))]))
    return (0..<rows.count).compactMap { StoredData.decodeRefused(rows, $0) }
  }

  private static func decodeRefused(_ rows: Rows, _ row: Int) -> Refused? {
    guard let workspace = rows.uuid(row, 0), let id = rows.uuid(row, 2),
      let session = rows.uuid(row, 3), let first = rows.time(row, 13), let last = rows.time(row, 14)
    else { return nil }
    return Refused(
      workspace: workspace, workspaceName: rows.text(row, 1) ?? "", id: id, session: session,
      role: rows.text(row, 4) ?? "", kind: rows.text(row, 5) ?? "", sender: rows.uuid(row, 6),
      senderName: rows.bytes(row, 7) ?? [], body: rows.bytes(row, 8) ?? [],
      payload: rows.bytes(row, 9) ?? [], state: rows.text(row, 10) ?? "",
      reason: rows.text(row, 11) ?? "", count: rows.int(row, 12) ?? 0, firstAt: first,
      lastAt: last)
  }

  /// Counts the messages whose last refusal is more than `days` days ago; 0 counts all.
  public func countRefused(
    olderThan days: Int, workspace: Identifier?
  ) throws(QueryFailure) -> Int64 {
    try number(
      """
      SELECT count(*) FROM quarantine WHERE refused_at <= now() - $1 * interval '1 day'
        AND ($2::uuid IS NULL OR workspace_id = $2::uuid)
      """, [.int(Int64(days)), .uuid(workspace)])
  }

  /// Deletes the messages that `countRefused` counts and returns their number. Writes one line per
  /// workspace to the audit log.
  public func purgeRefused(olderThan days: Int, workspace: Identifier?) throws -> Int64 {
    try connection.transaction { connection in
      let rows = try connection.run(
        Query(
          """
          WITH gone AS (
            DELETE FROM quarantine WHERE refused_at <= now() - $1 * interval '1 day'
              AND ($2::uuid IS NULL OR workspace_id = $2::uuid) RETURNING workspace_id)
          SELECT workspace_id, count(*) FROM gone GROUP BY workspace_id
          """, [.int(Int64(days)), .uuid(workspace)]))
      var count: Int64 = 0
      for row in 0..<rows.count {
        guard let id = rows.uuid(row, 0), let messages = rows.int(row, 1) else { continue }
        try audit(
          "quarantine.purged", workspace: id, target: nil, details: [("messages", messages)])
        count += messages
      }
      return count
    }
  }

  /// Removes a message that was stored in its session from the quarantine; running gateways load it
  /// within seconds.
  public func released(_ message: Refused, seq: Int64) throws {
    try connection.transaction { connection in
      try connection.run(
        Query(
          "DELETE FROM quarantine WHERE workspace_id = $1 AND message_id = $2",
          [.uuid(message.workspace), .uuid(message.id)]))
      try audit(
        "quarantine.released", workspace: message.workspace, target: message.id,
        details: [("seq", seq)])
      try announceChanges()
    }
  }
}

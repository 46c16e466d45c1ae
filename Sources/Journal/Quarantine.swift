import Chat
public import Postgres
import Primitives

/// The table `quarantine`: refused messages, which an administrator can examine and send again
/// (`chirrup quarantine`). It is written after the batch, over the reader's connection, so that it
/// can neither delay nor fail the log. Messages above its bounds are counted and dropped.
public enum Quarantine {
  /// Rows that are kept of one batch.
  public static let rowsPerBatch = 64
  /// Rows that are kept of one workspace, independent of other workspaces.
  public static let rowsPerWorkspace = 1_000
  /// Days for which a row is kept.
  public static let days = 30
  /// Bytes that are kept of PostgreSQL's message.
  static let reasonBytes = 500

  /// Affects one row if the message is kept, and none without room or without such a workspace. A
  /// repeated message is counted in its row.
  public static func storeQuery(_ row: QuarantinedRow) -> Query {
    let record = row.record
    return Query(
      """
      INSERT INTO quarantine AS q (workspace_id, message_id, session_id, role, kind, sender_id,
        sender_name, body, payload, sqlstate, reason)
      SELECT id, $2, $3, $4, $5, $6::uuid, $7, $8, $9, $10, $11 FROM workspaces WHERE id = $1 AND (
        EXISTS (SELECT FROM quarantine WHERE workspace_id = $1 AND message_id = $2)
        OR (SELECT count(*) FROM (SELECT FROM quarantine WHERE workspace_id = $1 LIMIT $12) AS kept)
          < $12)
      ON CONFLICT (workspace_id, message_id) DO UPDATE SET refusals = q.refusals + 1,
        sqlstate = excluded.sqlstate, reason = excluded.reason, refused_at = now()
      """,
      [
        .uuid(record.workspace), .uuid(record.id), .uuid(record.session),
        .text("\(record.role.text)"), .text("\(record.kind.text)"), .uuid(record.sender),
        .bytes(row.senderName), .bytes(row.body), .bytes(row.payload),
        .text(row.refusal.state.code), .utf8(reason(row.refusal.message)),
        .int(Int64(rowsPerWorkspace)),
      ])
  }

  /// Returns the number of rows of all workspaces, up to `limit`.
  public static func countQuery(limit: Int) -> Query {
    Query(
      "SELECT count(*) FROM (SELECT FROM quarantine LIMIT $1::bigint) AS kept",
      [.int(Int64(limit))])
  }

  /// Deletes at most `limit` rows older than `days`.
  public static func forgetQuery(limit: Int) -> Query {
    Query(
      """
      DELETE FROM quarantine WHERE (workspace_id, message_id) IN (
        SELECT workspace_id, message_id FROM quarantine
        WHERE refused_at < now() - $1 * interval '1 day' ORDER BY refused_at LIMIT $2)
      """, [.int(Int64(days)), .int(Int64(limit))])
  }

  /// Truncates at a character; PostgreSQL's messages are valid UTF-8.
  private static func reason(_ text: String) -> [UInt8] {
    var bytes = Array(text.utf8)
    guard bytes.count > reasonBytes else { return bytes }
    var end = reasonBytes
    while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    bytes.removeLast(bytes.count - end)
    return bytes
  }
}

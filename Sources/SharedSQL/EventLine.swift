public import Postgres

/// An event line that a statement adds to the log of a conversation (“Rated 4 of 5”). Changes of
/// operator and status have `chirrup_change` in the migrations, which writes their lines.
public enum EventLine {
  /// An INSERT of the line after the last entry of the conversation. The statement holds the lock
  /// of the conversation's row, and sets `last_seq` to the line's number.
  ///
  /// - Parameters:
  ///   - session: the alias of the conversation's row in `rows`, with `id` and `last_seq`.
  ///   - rows: the FROM clause; the line is added if it has a row.
  public static func insert(
    id: SQL, workspace: SQL, session: SQL, text: SQL, payload: SQL, at time: SQL, from rows: SQL
  ) -> SQL {
    """
    INSERT INTO chats
      (id, workspace_id, session_id, seq, role, kind, content, payload, content_hash, created_at)
    SELECT \(id), \(workspace), \(session).id, \(session).last_seq + 1, 'system', 'event',
      \(text), \(payload), \(ContentHash.of(kind: "'event'", payload: payload, content: text)),
      \(time)
    FROM \(rows)
    """
  }
}

public import Chat
public import Postgres
public import Primitives
import SharedSQL

/// Statements that read the log and the state of sessions, and the decoding of their rows.
public enum History {
  // MARK: A session

  /// Reads a session without its log: one row for each read mark, or one without a mark.
  public static func sessionQuery(_ id: Identifier, of workspace: Identifier) -> Query {
    Query(
      """
      SELECT s.id, s.workspace_id, s.user_id, coalesce(v.name, ''),
        s.epoch || coalesce((SELECT epoch FROM database_epoch), ''), s.last_seq, s.status,
        s.assigned_operator_id, coalesce(s.operator_name, ''), s.title,
        m.person_id, m.role, m.name, m.read_seq, m.delivered_seq
      FROM chat_sessions AS s
      LEFT JOIN visitors AS v ON v.workspace_id = s.workspace_id AND v.id = s.user_id
      LEFT JOIN read_marks AS m ON m.workspace_id = s.workspace_id AND m.session_id = s.id
      WHERE s.workspace_id = $2 AND s.id = $1 AND \(ConversationKey.isKept("s"))
      ORDER BY m.person_id
      """, [.uuid(id), .uuid(workspace)])
  }

  /// The same for an unknown workspace. This is the only statement that searches all of them.
  public static func sessionQuery(_ id: Identifier) -> Query {
    Query(
      """
      SELECT s.id, s.workspace_id, s.user_id, coalesce(v.name, ''),
        s.epoch || coalesce((SELECT epoch FROM database_epoch), ''), s.last_seq, s.status,
        s.assigned_operator_id, coalesce(s.operator_name, ''), s.title,
        m.person_id, m.role, m.name, m.read_seq, m.delivered_seq
      FROM chat_sessions AS s
      LEFT JOIN visitors AS v ON v.workspace_id = s.workspace_id AND v.id = s.user_id
      LEFT JOIN read_marks AS m ON m.workspace_id = s.workspace_id AND m.session_id = s.id
      WHERE s.id = $1 AND \(ConversationKey.isKept("s"))
      ORDER BY m.person_id
      """, [.uuid(id)])
  }

  /// Nil if the session does not exist or was deleted.
  public static func decodeSession(_ rows: Rows) -> SessionSnapshot? {
    guard !rows.isEmpty, let id = rows.uuid(0, 0), let workspace = rows.uuid(0, 1) else {
      return nil
    }
    var marks: [Mark] = []
    for row in 0..<rows.count {
      guard let person = rows.uuid(row, 10) else { continue }
      let role = rows.bytes(row, 11)?.withRawSpan { Role(text: $0) } ?? .visitor
      marks.append(
        Mark(
          person: Person(role: role, id: person, name: rows.bytes(row, 12) ?? []),
          read: rows.int(row, 13) ?? 0, delivered: rows.int(row, 14) ?? 0))
    }
    return SessionSnapshot(
      id: id, workspace: workspace,
      visitor: rows.uuid(0, 2).map {
        Person(role: .visitor, id: $0, name: rows.bytes(0, 3) ?? [])
      },
      epoch: rows.bytes(0, 4) ?? [], head: rows.int(0, 5) ?? 0,
      status: rows.bytes(0, 6)?.withRawSpan { SessionStatus(text: $0) } ?? .waiting,
      assignee: rows.uuid(0, 7).map {
        Person(role: .operator_, id: $0, name: rows.bytes(0, 8) ?? [])
      },
      title: rows.bytes(0, 9) ?? [], marks: marks)
  }

  /// Reads a number that changes whenever sessions were changed without the gateways: by an erasure
  /// or a restore, or by a promoted standby, which this statement detects.
  public static let generationQuery = Query(
    """
    WITH renewed AS (
      UPDATE database_epoch SET epoch = '-' || left(md5(gen_random_uuid()::text), 8),
        fingerprint = chirrup_fingerprint(), generation = generation + 1, changed_at = now()
      WHERE fingerprint <> chirrup_fingerprint() RETURNING generation)
    SELECT coalesce((SELECT generation FROM renewed), (SELECT generation FROM database_epoch))
    """)

  // MARK: The log of a session

  /// Reads entries after the number `after`, in order: at most `limit`, and no further one once
  /// `bytes` of text and payload are reached. A row's `total` is the size of the page up to and
  /// including it, in bytes.
  public static func entriesQuery(
    _ session: Identifier, of workspace: Identifier, after: Int64, limit: Int, bytes: Int
  ) -> Query {
    Query(
      """
      SELECT p.seq, p.id, p.role, p.kind, coalesce(p.operator_id, p.user_id),
        coalesce(p.operator_name, v.name, ''), p.content, p.payload, p.created_at, p.total
      FROM (
        SELECT c.*, sum(c.size) OVER (ORDER BY c.seq ROWS UNBOUNDED PRECEDING) AS total
        FROM (
          SELECT *, octet_length(content) + coalesce(octet_length(payload::text), 0) AS size
          FROM chats WHERE workspace_id = $4 AND session_id = $1 AND seq > $2
          ORDER BY seq LIMIT $3) AS c) AS p
      LEFT JOIN visitors AS v ON v.workspace_id = p.workspace_id AND v.id = p.user_id
      WHERE p.total - p.size < $5 ORDER BY p.seq
      """,
      [.uuid(session), .int(after), .int(Int64(limit)), .uuid(workspace), .int(Int64(bytes))])
  }

  /// The same before the number `before`, in descending order.
  public static func entriesQuery(
    _ session: Identifier, of workspace: Identifier, before: Int64, limit: Int, bytes: Int
  ) -> Query {
    Query(
      """
      SELECT p.seq, p.id, p.role, p.kind, coalesce(p.operator_id, p.user_id),
        coalesce(p.operator_name, v.name, ''), p.content, p.payload, p.created_at, p.total
      FROM (
        SELECT c.*, sum(c.size) OVER (ORDER BY c.seq DESC ROWS UNBOUNDED PRECEDING) AS total
        FROM (
          SELECT *, octet_length(content) + coalesce(octet_length(payload::text), 0) AS size
          FROM chats WHERE workspace_id = $4 AND session_id = $1 AND seq < $2
          ORDER BY seq DESC LIMIT $3) AS c) AS p
      LEFT JOIN visitors AS v ON v.workspace_id = p.workspace_id AND v.id = p.user_id
      WHERE p.total - p.size < $5 ORDER BY p.seq DESC
      """,
      [.uuid(session), .int(before), .int(Int64(limit)), .uuid(workspace), .int(Int64(bytes))])
  }

  /// Decodes the rows of `entriesQuery` with the same bounds, in ascending order.
  public static func decodePage(_ rows: Rows, limit: Int, bytes: Int) -> LogPage {
    var entries: [Entry] = []
    entries.reserveCapacity(rows.count)
    var total: Int64 = 0
    for row in 0..<rows.count {
      total = rows.int(row, 9) ?? 0
      guard let seq = rows.int(row, 0), let id = rows.uuid(row, 1) else { continue }
      entries.append(
        Entry(
          seq: seq, id: id,
          role: rows.bytes(row, 2)?.withRawSpan { Role(text: $0) } ?? .system,
          kind: rows.bytes(row, 3)?.withRawSpan { EntryKind(text: $0) } ?? .text,
          sender: rows.uuid(row, 4), senderName: rows.bytes(row, 5) ?? [],
          body: rows.bytes(row, 6) ?? [], payload: rows.json(row, 7) ?? [],
          // Messages of older systems may have no time.
          at: rows.time(row, 8) ?? WallTime(microseconds: 0)))
    }
    if let first = entries.first, let last = entries.last, first.seq > last.seq {
      entries.reverse()
    }
    return LogPage(entries: entries, isFull: rows.count == limit || total >= Int64(bytes))
  }

  // MARK: Marks

  /// Stores up to which number a person has read and received a session. Marks never decrease.
  public static func markQuery(
    _ session: Identifier, of workspace: Identifier, _ person: Person, read: Int64,
    delivered: Int64
  ) -> Query {
    Query(
      """
      INSERT INTO read_marks AS m
        (workspace_id, session_id, person_id, role, name, read_seq, delivered_seq)
      SELECT workspace_id, id, $2, $3, $4, $5, $6 FROM chat_sessions
      WHERE workspace_id = $7 AND id = $1
      ON CONFLICT (workspace_id, session_id, person_id) DO UPDATE SET
        name = excluded.name,
        read_seq = greatest(m.read_seq, excluded.read_seq),
        delivered_seq = greatest(m.delivered_seq, excluded.delivered_seq),
        updated_at = now()
      """,
      [
        .uuid(session), .uuid(person.id), .text("\(person.role.text)"), .utf8(person.name),
        .int(read), .int(delivered), .uuid(workspace),
      ])
  }
}

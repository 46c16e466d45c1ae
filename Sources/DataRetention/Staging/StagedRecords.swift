/// The objects of another system's export, in a temporary table of the target's PostgreSQL. An
/// export may be larger than memory, and its order is not that of an import. All of it is read and
/// checked before anything is imported; the table ends with the connection.
import JSON
import Postgres
import Primitives

struct StagedRecords {
  /// Rows of one statement.
  static let rowsMax = 1_000
  /// Bytes after which a statement is sent.
  static let bytesMax = 4 * 1_024 * 1_024
  /// Members, teams, tags and canned replies that are read.
  static let configurationMax: Int64 = 10_000

  enum Kind: String {
    case member, team, teamMember, tag, reply, contact, conversation, message
    /// What belongs to a conversation beside its messages.
    case label, rating, file
  }

  struct Record {
    var kind: Kind
    var key: String
    /// The contact of a conversation; else the conversation that it belongs to, if to any.
    var parent = ""
    /// The time of a message, and the last activity of a conversation.
    var at: WallTime?
    var value: JSONValue
  }

  let connection: BlockingConnection
  private var rows = JSONRows()
  private var count = 0

  init(_ connection: BlockingConnection) throws {
    self.connection = connection
    try connection.execute(
      script: """
        DROP TABLE IF EXISTS pg_temp.staged_records;
        CREATE TEMPORARY TABLE staged_records (
          kind text NOT NULL, key text NOT NULL, parent text NOT NULL, at timestamptz,
          value text NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (kind, key));
        """)
  }

  /// Of records with the same key the last counts, at the place of the first.
  mutating func add(_ record: Record) throws(QueryFailure) {
    count += 1
    let number = Int64(count)
    rows.append {
      $0.appendMember("o", number)
      $0.appendMember("kind", record.kind.rawValue)
      $0.appendMember("key", record.key)
      $0.appendMember("parent", record.parent)
      $0.appendMember("at", record.at)
      $0.appendMember("value", utf8: record.value.text)
    }
    if count >= Self.rowsMax || rows.byteCount >= Self.bytesMax { try flush() }
  }

  private mutating func flush() throws(QueryFailure) {
    guard count > 0 else { return }
    try connection.run(
      Query(
        """
        INSERT INTO staged_records (kind, key, parent, at, value)
        SELECT kind, key, parent, at, value FROM (
          SELECT DISTINCT ON (kind, key) * FROM jsonb_to_recordset($1) AS g (o bigint, kind text,
            key text, parent text, at timestamptz, value text) ORDER BY kind, key, o DESC) AS g
        ORDER BY o
        ON CONFLICT (kind, key) DO UPDATE
          SET parent = excluded.parent, at = excluded.at, value = excluded.value
        """, [.json(rows.text)]))
    rows = JSONRows()
    count = 0
  }

  /// After the last record.
  mutating func finish() throws {
    try flush()
    try connection.execute(
      script: """
        CREATE INDEX ON staged_records (kind, n);
        CREATE INDEX ON staged_records (kind, parent, n);
        ANALYZE staged_records;
        """)
  }

  // MARK: Reading

  func list(_ kind: Kind) throws(QueryFailure) -> [(key: String, value: JSONValue)] {
    let rows = try connection.run(
      Query(
        "SELECT key, value FROM staged_records WHERE kind = $1 ORDER BY n LIMIT $2",
        [.text(kind.rawValue), .int(Self.configurationMax)]))
    return (0..<rows.count).map { (rows.text($0, 0) ?? "", rows.value($0, 1)) }
  }

  /// A contact with its conversations.
  struct Contact {
    var key: String
    var place: Int64
    var value: JSONValue
    /// Keys of the first ones.
    var conversations: [String]
    var firstActivity: WallTime?
    var lastActivity: WallTime?
  }

  func contacts(after last: Int64, since: WallTime?) throws(QueryFailure) -> [Contact] {
    let rows = try connection.run(
      Query(
        """
        SELECT c.key, c.n, c.value, (\(Self.conversations(of: "c.key"))), s.first, s.last
        FROM staged_records c LEFT JOIN LATERAL (SELECT min(v.at) AS first, max(v.at) AS last
          FROM staged_records v WHERE v.kind = 'conversation' AND v.parent = c.key) AS s ON true
        WHERE c.kind = 'contact' AND c.n > $1
          AND ($2::timestamptz IS NULL OR s.last >= $2::timestamptz) ORDER BY c.n LIMIT $3
        """, [.int(last), .time(since), .int(Int64(Self.rowsMax))]))
    return (0..<rows.count).map { row in
      Contact(
        key: rows.text(row, 0) ?? "", place: rows.int(row, 1) ?? Int64.max,
        value: rows.value(row, 2), conversations: rows.keys(row, 3),
        firstActivity: rows.time(row, 4), lastActivity: rows.time(row, 5))
    }
  }

  /// As text, with line feeds between.
  private static func conversations(of contact: SQL) -> SQL {
    """
    SELECT string_agg(o.key, E'\\n' ORDER BY o.n) FROM (SELECT v.key, v.n FROM staged_records v
      WHERE v.kind = 'conversation' AND v.parent = \(contact) ORDER BY v.n LIMIT 20) AS o
    """
  }

  struct Conversation {
    var key: String
    var place: Int64
    var at: WallTime
    var value: JSONValue
    /// Nil unless the export has the contact.
    var contact: (key: String, value: JSONValue, conversations: [String])?
  }

  func conversations(
    after last: Int64, limit: Int, since: WallTime?
  ) throws(QueryFailure) -> [Conversation] {
    let rows = try connection.run(
      Query(
        """
        SELECT v.key, v.n, v.at, v.value, c.key, c.value, (\(Self.conversations(of: "c.key")))
        FROM staged_records v
        LEFT JOIN staged_records c ON c.kind = 'contact' AND c.key = v.parent
        WHERE v.kind = 'conversation' AND v.n > $1 AND \(Self.isRecent("$2")) ORDER BY v.n LIMIT $3
        """, [.int(last), .time(since), .int(Int64(limit))]))
    return (0..<rows.count).map { row in
      Conversation(
        key: rows.text(row, 0) ?? "", place: rows.int(row, 1) ?? Int64.max,
        at: rows.time(row, 2) ?? WallTime(microseconds: 0), value: rows.value(row, 3),
        contact: rows.text(row, 4).map { ($0, rows.value(row, 5), rows.keys(row, 6)) })
    }
  }

  /// Condition on a conversation `v`.
  private static func isRecent(_ since: SQL) -> SQL {
    "(\(since)::timestamptz IS NULL OR v.at >= \(since)::timestamptz)"
  }

  /// What belongs to the conversations after `first` up to `last`, by conversation.
  func children(
    _ kind: Kind, after first: Int64, upTo last: Int64
  ) throws(QueryFailure) -> [String: [(key: String, value: JSONValue)]] {
    let rows = try connection.run(
      Query(
        """
        SELECT r.parent, r.key, r.value FROM staged_records v
        JOIN staged_records r ON r.kind = $1 AND r.parent = v.key
        WHERE v.kind = 'conversation' AND v.n > $2 AND v.n <= $3 ORDER BY r.n
        """, [.text(kind.rawValue), .int(first), .int(last)]))
    var children: [String: [(key: String, value: JSONValue)]] = [:]
    for row in 0..<rows.count {
      children[rows.text(row, 0) ?? "", default: []]
        .append((rows.text(row, 1) ?? "", rows.value(row, 2)))
    }
    return children
  }

  func messageCount(since: WallTime?) throws(QueryFailure) -> Int64 {
    try connection.run(
      Query(
        """
        SELECT count(*) FROM staged_records m
        JOIN staged_records v ON v.kind = 'conversation' AND v.key = m.parent
        WHERE m.kind = 'message' AND \(Self.isRecent("$1"))
        """, [.time(since)])
    ).int(0, 0) ?? 0
  }

  /// The messages of the conversations after `first` up to `last`, each conversation's by time, in
  /// pages of at most 200, whose texts are at most 100 MiB: conversation, key, time, value.
  func messages(
    after first: Int64, upTo last: Int64, since: WallTime?, _ body: (Rows) throws -> Void
  ) throws {
    // WITH HOLD: the transactions that store the pages end while it is read.
    try connection.run(
      Query(
        """
        DECLARE staged_messages CURSOR WITH HOLD FOR
        SELECT m.parent, m.key, m.at, m.value FROM staged_records v
        JOIN staged_records m ON m.kind = 'message' AND m.parent = v.key
        WHERE v.kind = 'conversation' AND v.n > $1 AND v.n <= $2 AND \(Self.isRecent("$3"))
        ORDER BY v.n, m.at, m.n
        """, [.int(first), .int(last), .time(since)]))
    while true {
      let page = try connection.run(Query("FETCH 200 FROM staged_messages"))
      if page.isEmpty { break }
      try body(page)
    }
    try connection.run(Query("CLOSE staged_messages"))
  }
}

extension Rows {
  func value(_ row: Int, _ column: Int) -> JSONValue {
    text(row, column).flatMap { JSONValue($0) } ?? .null
  }

  fileprivate func keys(_ row: Int, _ column: Int) -> [String] {
    (text(row, column) ?? "").split(separator: "\n").map { String($0) }
  }
}

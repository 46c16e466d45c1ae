/// Which contents of messages are to be fetched, and what became of them (`channel_contents`).
///
/// While one is waiting, its event and the later ones of its person are not processed, so a
/// conversation keeps its order. Others do not wait. A gateway holds a lease on what it fetches.
import Directory
import Postgres
import Primitives

enum ChannelContents {
  /// Contents of one person that are fetched, or wait for their way into the log. Also bounds the
  /// person's files that are in no message yet.
  static let perPerson: Int64 = 4
  static let countedMax: Int64 = 100_000

  /// A condition: no earlier content of the person of the event `e` is waiting, nor its own. One
  /// whose event is processed, by a gateway of an older version, keeps back nobody.
  static let isFree: SQL = """
    NOT EXISTS (SELECT FROM channel_contents w JOIN channel_events x
      ON x.workspace_id = w.workspace_id AND x.channel = w.channel AND x.id = w.event_id
      WHERE w.workspace_id = e.workspace_id AND w.channel = e.channel AND w.address = e.address
        AND w.seq <= e.seq AND w.state = 'waiting' AND x.processed_at IS NULL)
    """

  /// The outcome of a fetch.
  enum Result: Sendable, Equatable {
    /// An attachment of the person.
    case stored(Identifier)
    /// The rules refuse the file of this name.
    case omitted(name: String)
    case missing(reason: String)
  }

  static func result(_ rows: Rows, _ row: Int, from first: Int) -> Result? {
    switch rows.text(row, first) {
    case "stored": rows.uuid(row, first + 1).map { .stored($0) }
    case "omitted": .omitted(name: rows.text(row, first + 2) ?? "file")
    case "missing": .missing(reason: rows.text(row, first + 3) ?? "")
    default: nil
    }
  }

  /// A content that this node fetches now.
  struct Taken: Sendable, Equatable {
    var person: ChannelPeople.Person
    var event: String
    var payload: [UInt8]
    var lease: Identifier
    /// The number of the attempt; the first is 1.
    var attempt: Int
    /// The time since the event came.
    var seconds: Int64
    var isBanned: Bool
  }

  /// Whether one is waiting, and whether one is due.
  static let peek: StaticString = """
    SELECT EXISTS (SELECT FROM channel_contents WHERE state = 'waiting'),
      EXISTS (SELECT FROM channel_contents WHERE state = 'waiting' AND due_at <= now())
    """

  /// Takes what is due: the oldest of each person.
  static func take(room: Int, lease: Identifier, milliseconds: Int64) -> Query {
    Query(
      takeSQL, [.int(Int64(room)), .uuid(lease), .int(milliseconds), .int(perPerson - 1)])
  }

  private static let takeSQL: SQL = """
    WITH due AS (
      SELECT c.workspace_id, c.channel, c.event_id FROM channel_contents c
      WHERE c.state = 'waiting' AND c.due_at <= now()
        AND NOT EXISTS (SELECT FROM channel_contents o
          WHERE o.workspace_id = c.workspace_id AND o.channel = c.channel
            AND o.address = c.address AND o.seq < c.seq OFFSET $4::bigint)
      ORDER BY c.due_at, c.seq LIMIT $1::bigint FOR UPDATE OF c SKIP LOCKED
    )
    UPDATE channel_contents c SET lease = $2::uuid, attempts = c.attempts + 1,
      due_at = now() + $3::bigint * interval '1 millisecond'
    FROM due d JOIN channel_events e
      ON e.workspace_id = d.workspace_id AND e.channel = d.channel AND e.id = d.event_id
    WHERE c.workspace_id = d.workspace_id AND c.channel = d.channel AND c.event_id = d.event_id
    RETURNING c.workspace_id, c.channel, c.address, c.event_id, c.attempts,
      extract(epoch FROM now() - e.received_at)::bigint, e.payload,
      EXISTS (SELECT FROM visitors k JOIN visitors v
        ON v.workspace_id = k.workspace_id AND v.id = coalesce(k.merged_into, k.id)
        WHERE k.workspace_id = c.workspace_id AND k.external_id = c.address
          AND v.banned_at IS NOT NULL)
    """

  static func taken(_ rows: Rows, lease: Identifier) -> [Taken] {
    (0..<rows.count).compactMap { row in
      guard let workspace = rows.uuid(row, 0), let channel = rows.text(row, 1),
        let address = rows.text(row, 2), let event = rows.text(row, 3)
      else { return nil }
      let person = ChannelPeople.Person(workspace: workspace, channel: channel, address: address)
      return Taken(
        person: person, event: event, payload: rows.bytes(row, 6) ?? [], lease: lease,
        attempt: Int(rows.int(row, 4) ?? 1), seconds: rows.int(row, 5) ?? 0,
        isBanned: rows.bool(row, 7) ?? false)
    }
  }

  private static func own(_ taken: Taken) -> [Parameter] {
    [
      .uuid(taken.person.workspace), .text(taken.person.channel), .text(taken.event),
      .uuid(taken.lease),
    ]
  }

  /// Makes leases last longer.
  static func keep(_ leases: [Identifier], milliseconds: Int64) -> Query {
    Query(
      """
      UPDATE channel_contents SET due_at = now() + $2::bigint * interval '1 millisecond'
      WHERE lease = ANY ($1::uuid[]) AND state = 'waiting' AND due_at > now()
      """, [.uuids(leases), .int(milliseconds)])
  }

  /// Records a result, unless another node has the lease.
  static func finish(_ taken: Taken, _ result: Result) -> Query {
    let (state, file, name, reason): (String, Identifier?, String?, String?) =
      switch result {
      case .stored(let id): ("stored", id, nil, nil)
      case .omitted(let name): ("omitted", nil, name, nil)
      case .missing(let reason): ("missing", nil, nil, reason)
      }
    return Query(
      """
      UPDATE channel_contents SET lease = NULL, state = $5::text, file_id = $6::uuid,
        name = $7::text, reason = $8::text
      WHERE workspace_id = $1::uuid AND channel = $2::text AND event_id = $3::text
        AND lease = $4::uuid AND state = 'waiting'
      """, own(taken) + [.text(state), .uuid(file), .text(name), .text(reason)])
  }

  static func postpone(_ taken: Taken, reason: String, milliseconds: Int64) -> Query {
    Query(
      """
      UPDATE channel_contents SET lease = NULL, reason = $5::text,
        due_at = now() + $6::bigint * interval '1 millisecond'
      WHERE workspace_id = $1::uuid AND channel = $2::text AND event_id = $3::text
        AND lease = $4::uuid AND state = 'waiting'
      """, own(taken) + [.text(reason), .int(milliseconds)])
  }

  static func release(_ leases: [Identifier]) -> Query {
    Query(
      """
      UPDATE channel_contents SET lease = NULL, due_at = now()
      WHERE lease = ANY ($1::uuid[]) AND state = 'waiting'
      """, [.uuids(leases)])
  }

  /// Forgets those whose event is processed without them, by a gateway of an older version.
  static var forget: Query {
    Query(
      """
      DELETE FROM channel_contents c USING channel_events e
      WHERE e.workspace_id = c.workspace_id AND e.channel = c.channel AND e.id = c.event_id
        AND e.processed_at IS NOT NULL
      """)
  }

  /// The number of contents that are waiting, and the time since the oldest came, in seconds.
  static var countWaiting: Query {
    Query(
      """
      SELECT count(*), coalesce(ceil(extract(epoch FROM now() - min(received_at))), 0)::bigint
      FROM (SELECT e.received_at FROM channel_contents c JOIN channel_events e
          ON e.workspace_id = c.workspace_id AND e.channel = c.channel AND e.id = c.event_id
        WHERE c.state = 'waiting' LIMIT $1::bigint) AS waiting
      """, [.int(countedMax)])
  }
}

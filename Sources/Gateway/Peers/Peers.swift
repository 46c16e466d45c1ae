import Postgres
import Primitives
import Synchronization

/// The other gateways on this database. While there are none, nobody is told anything.
final class Peers: Sendable {
  /// Of this process.
  let id: Identifier
  private let found = Atomic<Bool>(false)
  private let heard = Atomic<Bool>(false)

  init(id: Identifier) { self.id = id }

  var areThere: Bool { found.load(ordering: .relaxed) }

  func note(_ areThere: Bool) { found.store(areThere, ordering: .relaxed) }

  /// Whether what they tell is heard: not through a pooler, and not while the connection is down.
  var areHeard: Bool { heard.load(ordering: .relaxed) }

  func note(areHeard: Bool) { heard.store(areHeard, ordering: .relaxed) }

  static let listen: StaticString = "LISTEN chirrup"

  /// Says that this one runs, the first time so that the others hear it; answers how many others
  /// do.
  func beat() -> Query {
    Query(
      """
      WITH gone AS (
        DELETE FROM gateways WHERE seen_at < now() - interval '1 minute' AND id <> $1::uuid
      ), beaten AS (
        INSERT INTO gateways (id) VALUES ($1::uuid)
        ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING xmax = 0 AS is_new
      )
      SELECT (SELECT count(*) FROM gateways
          WHERE id <> $1::uuid AND seen_at > now() - interval '15 seconds'),
        (SELECT pg_notify('chirrup', $1::uuid || ' h')::text FROM beaten WHERE is_new)
      """, [.uuid(id)])
  }

  /// - Parameter payloads: of `PeerNotifier`; none contains a line's end.
  static func tell(_ payloads: [String]) -> Query {
    Query(
      """
      SELECT count(pg_notify('chirrup', payload)::text)
      FROM string_to_table($1::text, E'\\n') AS payload
      """, [.text(payloads.joined(separator: "\n"))])
  }

  /// Which of these sessions are further in the database, or not there any more.
  static func compare(
    _ known: [(session: Identifier, workspace: Identifier, head: Int64)]
  ) -> Query {
    Query(
      """
      SELECT t.id FROM unnest($1::uuid[], $2::uuid[], string_to_array($3::text, ' ')::bigint[])
        AS t (workspace_id, id, head)
      LEFT JOIN LATERAL (SELECT last_seq FROM chat_sessions AS s
        WHERE s.workspace_id = t.workspace_id AND s.id = t.id AND s.deleted_at IS NULL
        OFFSET 0) AS s ON true
      WHERE s.last_seq IS NULL OR s.last_seq > t.head
      """,
      [
        .uuids(known.map(\.workspace)), .uuids(known.map(\.session)),
        .text(known.map { "\($0.head)" }.joined(separator: " ")),
      ])
  }
}

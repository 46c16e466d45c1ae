import Postgres
import Primitives
import Synchronization

/// The other gateways on this database. Without any, no notification is sent.
final class Peers: Sendable {
  /// The id of this gateway, new in each process.
  let id: Identifier
  private let others = Atomic<Bool>(false)
  private let listening = Atomic<Bool>(false)

  init(id: Identifier) { self.id = id }

  /// Whether there are other gateways.
  var exist: Bool { others.load(ordering: .relaxed) }

  func note(exist: Bool) { others.store(exist, ordering: .relaxed) }

  /// Whether notifications are received: not through a pooler, and not without a connection.
  var isListening: Bool { listening.load(ordering: .relaxed) }

  func note(isListening: Bool) { listening.store(isListening, ordering: .relaxed) }

  static let listen: StaticString = "LISTEN chirrup"

  /// Stores that this gateway runs, and notifies the others the first time. Returns one row with
  /// the number of other gateways.
  func heartbeat() -> Query {
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

  /// - Parameter payloads: of `PeerNotifier`, without line breaks.
  static func notify(_ payloads: [String]) -> Query {
    Query(
      """
      SELECT count(pg_notify('chirrup', payload)::text)
      FROM string_to_table($1::text, E'\\n') AS payload
      """, [.text(payloads.joined(separator: "\n"))])
  }

  /// Returns the ids of sessions with a higher head in the database, and of deleted ones.
  static func sessionsBehind(
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

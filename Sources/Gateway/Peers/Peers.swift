import Kernel
import Postgres
import Primitives
import SharedSQL
import Synchronization

/// The other gateways on this database. Unless one runs, no notification is sent.
final class Peers: Sendable {
  /// The id of this gateway, new in each process.
  let id: Identifier
  /// What the other gateways should have in common with this one.
  let traits: GatewayTraits
  let seal: SignalSeal
  private let others = Atomic<Int>(0)
  private let anyRunning = Atomic<Bool>(false)
  private let oldest = Atomic<Bool>(false)
  private let application = Atomic<Bool>(false)
  private let listening = Atomic<Bool>(false)

  /// - Parameter keys: the ids of `SecretBox`.
  init(_ options: GatewayOptions, keys: [String]) {
    id = .random()
    traits = GatewayTraits(version: options.version, schema: options.schema, keys: keys)
    seal = SignalSeal(signingSecret: options.signingSecret)
  }

  /// The number of other gateways that run or have run within the last seconds: the last
  /// notifications of one that has ended may be lost, so what it has stored is looked for.
  var count: Int { others.load(ordering: .relaxed) }
  var exist: Bool { count > 0 }
  /// Whether one of them runs, so that somebody receives notifications. Each is a transaction.
  var isAnyRunning: Bool { anyRunning.load(ordering: .relaxed) }

  /// Another gateway has announced itself; the next heartbeat counts.
  func noteOne() {
    _ = others.compareExchange(expected: 0, desired: 1, ordering: .relaxed)
    anyRunning.store(true, ordering: .relaxed)
  }

  func note(count: Int, isAnyRunning: Bool) {
    others.store(count, ordering: .relaxed)
    anyRunning.store(isAnyRunning, ordering: .relaxed)
  }

  /// Whether no gateway that runs is older than this one. Of several it alone does what one has to
  /// do. False until the first heartbeat; for some seconds after a crash none is the oldest.
  var isOldest: Bool { oldest.load(ordering: .relaxed) }

  func note(isOldest: Bool) { oldest.store(isOldest, ordering: .relaxed) }

  /// Whether the application of an adopted database may write messages, which announces nothing.
  var includeApplication: Bool { application.load(ordering: .relaxed) }

  func note(includeApplication: Bool) { application.store(includeApplication, ordering: .relaxed) }

  /// Whether notifications are received: not through a pooler, and not without a connection.
  var isListening: Bool { listening.load(ordering: .relaxed) }

  func note(isListening: Bool) { listening.store(isListening, ordering: .relaxed) }

  static let listen: StaticString = "LISTEN chirrup"

  /// Stores that this gateway runs, and notifies the others the first time. Returns one row with
  /// the number of other gateways, whether the trigger exists that numbers the messages of an
  /// adopted database's application, in the fourth column whether no other gateway is older (ids of
  /// version 7 are in the order of time), and in the fifth whether another one has not ended.
  func heartbeat() -> Query {
    Query(
      """
      WITH gone AS (
        DELETE FROM gateways WHERE seen_at < now() - interval '1 minute' AND id <> $1::uuid
      ), beaten AS (
        INSERT INTO gateways
          (id, version, schema_revision, secret_keys, host, process_id, started_at)
        VALUES ($1::uuid, $2, $3, $4, $5, $6::bigint, now())
        ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING xmax = 0 AS is_new
      )
      SELECT (SELECT count(*) FROM gateways WHERE id <> $1::uuid AND \(GatewayProcess.isFresh)),
        EXISTS (SELECT FROM pg_trigger
          WHERE tgrelid = to_regclass('chats') AND tgname = 'chats_number_message'),
        (SELECT pg_notify('chirrup', $1::uuid || ' h')::text FROM beaten WHERE is_new),
        NOT EXISTS (SELECT FROM gateways
          WHERE id < $1::uuid AND stopped_at IS NULL AND \(GatewayProcess.isFresh)),
        EXISTS (SELECT FROM gateways
          WHERE id <> $1::uuid AND stopped_at IS NULL AND \(GatewayProcess.isFresh))
      """,
      [
        .uuid(id), .text(traits.version), .text(traits.schema),
        .text(traits.keys.joined(separator: " ")), .text(ThisProcess.host),
        .int(Int64(ThisProcess.id)),
      ])
  }

  /// Stores that this gateway has ended. The row stays, so that the others go on comparing
  /// sequence numbers for a while: the last notifications may be lost.
  func farewell() -> Query {
    Query("UPDATE gateways SET stopped_at = now() WHERE id = $1::uuid", [.uuid(id)])
  }

  /// The other gateways that run.
  func running() -> Query { GatewayProcess.running(except: id) }

  /// - Parameter payloads: of `PeerNotifier`, without line breaks.
  static func notify(_ payloads: [String]) -> Query {
    Query(
      """
      SELECT count(pg_notify('chirrup', payload)::text)
      FROM string_to_table($1::text, E'\\n') AS payload
      """, [.text(payloads.joined(separator: "\n"))])
  }

  /// Returns the known sessions that have a higher head in the database or were deleted, and the
  /// sessions of the `watched` workspaces that were deleted within the last seconds, each with its
  /// workspace. A deleted session is returned again while it is that recent.
  static func sessionsBehind(
    _ known: [(session: Identifier, workspace: Identifier, head: Int64)], watched: [Identifier]
  ) -> Query {
    Query(
      """
      SELECT t.id, t.workspace_id
      FROM unnest($1::uuid[], $2::uuid[], string_to_array($3::text, ' ')::bigint[])
        AS t (workspace_id, id, head)
      LEFT JOIN LATERAL (SELECT last_seq FROM chat_sessions AS s
        WHERE s.workspace_id = t.workspace_id AND s.id = t.id
          AND \(ConversationKey.isKept("s"))
        OFFSET 0) AS s ON true
      WHERE s.last_seq IS NULL OR s.last_seq > t.head
      UNION ALL (
        SELECT s.id, s.workspace_id FROM chat_sessions AS s
        WHERE s.workspace_id = ANY ($4::uuid[]) AND s.deleted_at > now() - interval '5 seconds'
        ORDER BY s.deleted_at DESC LIMIT 1000)
      """,
      [
        .uuids(known.map(\.workspace)), .uuids(known.map(\.session)),
        .text(known.map { "\($0.head)" }.joined(separator: " ")), .uuids(watched),
      ])
  }
}

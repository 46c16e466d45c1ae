/// The events that webhooks have received, until they are in the log (`channel_events`).
///
/// A webhook is answered after its events are committed, and before they are processed: a gateway
/// that crashes in between finds them again. An event that comes twice is stored once. Processing
/// one twice changes nothing either, so gateways need no agreement about who does it.
public import Directory
import JSON
public import Postgres
public import Primitives

public enum ChannelEvents {
  /// Events that one run reads.
  public static let processedMax = 200
  /// Workspaces of one sweep.
  public static let sweptMax: Int64 = 200

  /// The workspace of a webhook, and the secret that its platform signs with.
  public struct Receiver: Sendable, Equatable {
    public var workspace: Identifier
    /// Nil: none is stored.
    public var secret: SecretBox.Sealed?
  }

  /// Nil without a workspace with this public key.
  public static func receiver(
    publicKey: String, of channel: any Channel
  ) -> Statement<Receiver?> {
    Statement(
      Query(
        """
        SELECT w.id, c.key_id, c.ciphertext FROM workspaces w
        LEFT JOIN credentials c ON c.workspace_id = w.id AND c.provider = $2::text
          AND c.name = $3::text
        WHERE w.public_key = $1::text
        """, [.text(publicKey), .text(channel.name), .text(channel.signingCredential)])
    ) { rows in
      guard !rows.isEmpty, let workspace = rows.uuid(0, 0) else { return nil }
      guard let key = rows.text(0, 1), let bytes = rows.bytes(0, 2) else {
        return Receiver(workspace: workspace, secret: nil)
      }
      return Receiver(workspace: workspace, secret: SecretBox.Sealed(keyID: key, bytes: bytes))
    }
  }

  /// Stores events in their order, and which contents are to be fetched. The answer is the number
  /// of new events.
  ///
  /// - Parameter fetches: whether this gateway has a storage for contents.
  /// The payloads are strings of a JSON array, so that they may have escapes that `jsonb` refuses.
  public static func receive(
    _ events: [ReceivedEvent], on channel: String, in workspace: Identifier, fetches: Bool = true
  ) -> Statement<Int> {
    let known = Channels.named(channel)
    let list = JSONValue.array(
      events.map { event in
        .object([
          "id": .string(event.id), "address": .text(event.address),
          "payload": .string(String(decoding: event.payload, as: UTF8.self)),
          "has_content": .bool(
            fetches && event.address != nil && known?.meaning(of: event.payload).content != nil),
        ])
      })
    return Statement(
      Query(
        """
        WITH events AS (
          SELECT e, place FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS t (e, place)
        ), added AS (
          INSERT INTO channel_events (workspace_id, channel, id, address, payload)
          SELECT $1::uuid, $2::text, e ->> 'id', e ->> 'address', e ->> 'payload'
          FROM events ORDER BY place
          ON CONFLICT DO NOTHING RETURNING id, seq, address
        ), contents AS (
          INSERT INTO channel_contents (workspace_id, channel, event_id, seq, address)
          SELECT $1::uuid, $2::text, a.id, a.seq, a.address FROM added a
          WHERE EXISTS (SELECT FROM events
            WHERE e ->> 'id' = a.id AND (e ->> 'has_content')::boolean)
        )
        SELECT id FROM added
        """, [.uuid(workspace), .text(channel), .json(list.text)])
    ) { $0.count }
  }

  /// An event that is to be processed.
  public struct Pending: Sendable, Equatable {
    public var channel: String
    public var id: String
    public var address: String?
    public var payload: [UInt8]
    /// What became of the message's content; nil: it has none.
    var content: ChannelContents.Result?
  }

  /// The oldest events of a workspace that are not processed, without those that wait for a
  /// content.
  public static func pending(in workspace: Identifier) -> Statement<[Pending]> {
    Statement(
      Query(
        """
        SELECT e.channel, e.id, e.address, e.payload, c.state, c.file_id, c.name, c.reason
        FROM channel_events e LEFT JOIN channel_contents c
          ON c.workspace_id = e.workspace_id AND c.channel = e.channel AND c.event_id = e.id
        WHERE e.workspace_id = $1::uuid AND e.processed_at IS NULL AND \(ChannelContents.isFree)
        ORDER BY e.seq LIMIT $2::bigint
        """, [.uuid(workspace), .int(Int64(processedMax))])
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let channel = rows.text(row, 0), let id = rows.text(row, 1) else { return nil }
        return Pending(
          channel: channel, id: id, address: rows.text(row, 2), payload: rows.bytes(row, 3) ?? [],
          content: ChannelContents.result(rows, row, from: 4))
      }
    }
  }

  /// Workspaces with events that can be processed.
  public static func workspaces() -> Statement<[Identifier]> {
    Statement(
      Query(
        """
        SELECT DISTINCT e.workspace_id FROM channel_events e
        WHERE e.processed_at IS NULL AND \(ChannelContents.isFree) LIMIT $1::bigint
        """, [.int(sweptMax)])
    ) { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } }
  }

  /// The result of processing an event.
  public enum Result: String, CaseIterable, Sendable {
    /// A message is in the log, or was there before.
    case stored, known
    case followed, left
    /// The workspace has blocked the visitor.
    case blocked
    /// The log does not take the message.
    case refused
    /// Its payload is kept.
    case unsupported
  }

  /// Notes what became of an event. What is in the log is not kept twice.
  public static func settle(
    _ event: Pending, _ result: Result, in workspace: Identifier
  ) -> Query {
    let isKept = result == .unsupported || result == .refused
    return Query(
      """
      WITH content AS (
        DELETE FROM channel_contents
        WHERE workspace_id = $1::uuid AND channel = $2::text AND event_id = $3::text
      )
      UPDATE channel_events SET processed_at = now(), result = $4::text,
        payload = CASE WHEN $5::boolean THEN payload END
      WHERE workspace_id = $1::uuid AND channel = $2::text AND id = $3::text
      """,
      [
        .uuid(workspace), .text(event.channel), .text(event.id), .text(result.rawValue),
        .bool(isKept),
      ])
  }
}

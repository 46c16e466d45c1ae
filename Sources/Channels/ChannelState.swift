/// What members see of channels: which credentials are stored, and what became of messages.
public import Directory
import Postgres
public import Primitives

public enum ChannelState {
  /// Deliveries of one answer: the newest.
  public static let deliveriesMax: Int64 = 500

  /// The names of the credentials that are stored for each channel, and the workspace's public key.
  public static func stored(
    in workspace: Identifier
  ) -> Statement<(key: String, credentials: [String: Set<String>])> {
    Statement(
      Query(
        """
        SELECT w.public_key, c.provider, c.name FROM workspaces w
        LEFT JOIN credentials c ON c.workspace_id = w.id WHERE w.id = $1::uuid
        """, [.uuid(workspace)])
    ) { rows in
      var credentials: [String: Set<String>] = [:]
      for row in 0..<rows.count {
        guard let provider = rows.text(row, 1), let name = rows.text(row, 2) else { continue }
        credentials[provider, default: []].insert(name)
      }
      return (rows.isEmpty ? "" : rows.text(0, 0) ?? "", credentials)
    }
  }

  /// The sealed secret that sends; nil: none is stored.
  public static func secret(
    of channel: any Channel, in workspace: Identifier
  ) -> Statement<SecretBox.Sealed?> {
    Statement(
      Query(
        """
        SELECT key_id, ciphertext FROM credentials
        WHERE workspace_id = $1::uuid AND provider = $2::text AND name = $3::text
        """, [.uuid(workspace), .text(channel.name), .text(channel.sendingCredential)])
    ) { rows in
      guard !rows.isEmpty, let key = rows.text(0, 0), let bytes = rows.bytes(0, 1) else {
        return nil
      }
      return SecretBox.Sealed(keyID: key, bytes: bytes)
    }
  }

  /// A message that was to be sent.
  public struct Delivery: Sendable, Equatable {
    public var message: Identifier
    public var seq: Int64
    public var status: String
    public var reason: String?
    public var at: WallTime?
  }

  /// A conversation on a channel.
  public struct Conversation: Sendable, Equatable {
    public var channel: String
    /// The person has blocked the account.
    public var isLeft: Bool
    /// Why the last attempt failed; nil: it did not, or nothing waits.
    public var problem: String?
    /// The newest ones, the oldest first. Those that wait have the status `pending`.
    public var deliveries: [Delivery]
  }

  /// Nil if there is no such conversation on a channel.
  public static func conversation(
    _ session: Identifier, in workspace: Identifier
  ) -> Statement<Conversation?> {
    Statement(
      Query(
        """
        SELECT c.channel, p.left_at IS NOT NULL,
          CASE WHEN c.due_at IS NOT NULL THEN c.last_error END,
          m.message_id, m.seq, m.status, m.reason, m.at
        FROM channel_conversations c
        JOIN chat_sessions s ON s.workspace_id = c.workspace_id AND s.id = c.session_id
          AND s.deleted_at IS NULL
        LEFT JOIN channel_people p ON p.workspace_id = c.workspace_id AND p.channel = c.channel
          AND p.address = c.address
        LEFT JOIN LATERAL (
          SELECT * FROM (
            SELECT d.message_id, d.seq,
              CASE WHEN d.again_at IS NULL THEN d.status ELSE 'pending' END AS status,
              CASE WHEN d.again_at IS NULL THEN d.reason END AS reason,
              CASE WHEN d.again_at IS NULL THEN d.at END AS at FROM channel_deliveries d
            WHERE d.workspace_id = c.workspace_id AND d.session_id = c.session_id
            UNION ALL
            SELECT m.id, m.seq, 'pending', NULL, NULL FROM chats m
            WHERE m.workspace_id = c.workspace_id AND m.session_id = c.session_id
              AND m.seq > c.done_seq AND \(ChannelOutbox.isSent)) AS all_of_them
          ORDER BY seq DESC LIMIT $3::bigint) AS m ON true
        WHERE c.workspace_id = $1::uuid AND c.session_id = $2::uuid
        ORDER BY m.seq
        """, [.uuid(workspace), .uuid(session), .int(deliveriesMax)])
    ) { rows in
      guard !rows.isEmpty, let channel = rows.text(0, 0) else { return nil }
      let deliveries = (0..<rows.count).compactMap { row -> Delivery? in
        guard let message = rows.uuid(row, 3), let status = rows.text(row, 5) else { return nil }
        return Delivery(
          message: message, seq: rows.int(row, 4) ?? 0, status: status, reason: rows.text(row, 6),
          at: rows.time(row, 7))
      }
      return Conversation(
        channel: channel, isLeft: rows.bool(0, 1) ?? false, problem: rows.text(0, 2),
        deliveries: deliveries)
    }
  }

  /// What was wanted of a message, and what is to be done.
  public enum Again: Sendable, Equatable {
    /// It is to be sent again, now or since an earlier call.
    case due(seq: Int64)
    case sent
    /// No such message has failed.
    case unknown
  }

  /// Makes a message that has failed due again. Its retry key stays the same, so the platform takes
  /// it once even if an earlier attempt has reached it.
  public static func sendAgain(
    _ message: Identifier, of session: Identifier, in workspace: Identifier
  ) -> Statement<Again> {
    let place: [Parameter] = [.uuid(workspace), .uuid(session)]
    return Statement(
      Query(sendAgainSQL, place + [.uuid(message)]).after(
        // As the worker does: the conversation before its deliveries.
        Lock(
          """
          SELECT FROM channel_conversations
          WHERE workspace_id = $1::uuid AND session_id = $2::uuid FOR UPDATE
          """, place))
    ) { rows in
      guard !rows.isEmpty, let seq = rows.int(0, 0) else { return .unknown }
      return rows.text(0, 1) == "sent" ? .sent : .due(seq: seq)
    }
  }

  private static let sendAgainSQL: SQL = """
    WITH target AS (
      SELECT d.seq, d.status FROM channel_deliveries d
      JOIN chat_sessions s ON s.workspace_id = d.workspace_id AND s.id = d.session_id
        AND s.deleted_at IS NULL
      WHERE d.workspace_id = $1::uuid AND d.session_id = $2::uuid AND d.message_id = $3::uuid
    ), again AS (
      UPDATE channel_deliveries d SET again_at = now() FROM target t
      WHERE d.workspace_id = $1::uuid AND d.session_id = $2::uuid AND d.seq = t.seq
        AND t.status IN ('failed', 'unknown') AND d.again_at IS NULL
      RETURNING d.seq
    ), due AS (
      -- While another message is tried, this one follows it.
      UPDATE channel_conversations c SET due_at = coalesce(c.due_at, now())
      WHERE c.workspace_id = $1::uuid AND c.session_id = $2::uuid AND EXISTS (SELECT FROM again)
    )
    SELECT seq, status FROM target
    """
}

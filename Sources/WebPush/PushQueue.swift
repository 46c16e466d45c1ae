import Directory
import Postgres
import Primitives
import SharedSQL

/// What is to be pushed, shared by all nodes (`push_notices`): for each browser and conversation
/// one row, the outbox and the mark at once. So a browser has no more rows than conversations, and
/// a later event replaces an earlier one that was not sent yet.
///
/// The events are read from the rows of the conversations, not from the log: a row has the time of
/// its entry into the queue and that of its last message. So nothing is written for a message, and
/// nothing waits. An event is noted once, by whichever node finds it first: its time must be later
/// than the noted one.
///
/// Nothing is pushed to operators with a visible console. What happens while one is visible is not
/// pushed later either.
enum PushQueue {
  /// How far back events are looked for, in minutes: a gateway may have been away for as long.
  static let windowMinutes: Int64 = 10
  /// The most new conversations that one search notes for a browser; the next one continues.
  static let waitingMax: Int64 = 20
  /// The most requests of a node to one browser at once.
  static let perBrowser = 4

  /// Whether any browser gets push messages, and whether anything is due.
  static let peek: StaticString = """
    SELECT EXISTS (SELECT FROM push_subscriptions),
      EXISTS (SELECT FROM push_notices WHERE next_attempt_at <= now())
    """

  /// FROM and WHERE: the subscriptions `p` of logins `l` in force, of members `m` with accounts `o`
  /// and presence `at`, none of whose consoles is visible.
  ///
  /// A gateway reports every 5 s that a console is visible, and a hidden one at once. Another that
  /// is visible is reported again within the 6 s.
  private static let unattended: SQL = """
    FROM push_subscriptions p
    JOIN operator_sessions l ON l.id = p.login_id
    JOIN operators o ON o.id = l.operator_id
    JOIN memberships m ON m.operator_id = l.operator_id AND m.workspace_id = l.workspace_id
    LEFT JOIN operator_presence at
      ON at.workspace_id = l.workspace_id AND at.operator_id = l.operator_id
    WHERE \(OperatorSession.isValid("l", of: "o", at: "now()"))
      AND NOT o.must_change_password AND NOT l.must_enrol
      AND (at.active_at IS NULL OR NOT chirrup_is_present(at.active_at)
        OR at.hidden_at >= at.active_at AND at.hidden_at < now() - interval '6 seconds')
    """

  /// Condition: the conversation `s` is a reason to disturb `l`: it waits, in a line whose
  /// conversations the operator may claim, and within that line's business hours.
  private static let isWaiting: SQL = """
    \(ConversationQueue.contains("s")) AND s.assigned_operator_id IS NULL
      AND (s.team_id IS NULL OR EXISTS (SELECT FROM chat_team_members t
        WHERE t.workspace_id = l.workspace_id AND t.team_id = s.team_id
          AND t.operator_id = l.operator_id))
      AND chirrup_is_open_line(s.workspace_id, s.team_id)
    """

  /// Condition: the visitor has the last word in the conversation `s` of `l`, unread.
  private static let isUnanswered: SQL = """
    s.assigned_operator_id = l.operator_id AND s.status = 'active' AND s.deleted_at IS NULL
      AND s.last_message_role IN ('visitor', 'user')
      AND NOT EXISTS (SELECT FROM read_marks r WHERE r.session_id = s.id
        AND r.person_id = l.operator_id AND r.read_seq >= s.last_seq)
    """

  /// Notes new events.
  static var note: Query { Query(noteSQL, [.int(windowMinutes), .int(waitingMax)]) }

  private static let noteSQL: SQL = """
    WITH l AS MATERIALIZED (
      SELECT p.login_id, p.waiting, p.messages, l.workspace_id, l.operator_id,
        coalesce(at.is_available, true) AS is_available,
        greatest(p.created_at, at.active_at, at.hidden_at,
          now() - $1::bigint * interval '1 minute') AS since
      \(unattended)
    ), found AS (
      SELECT l.login_id, s.id, 'waiting' AS reason, s.\(ConversationQueue.entryTime) AS event_at
      FROM l CROSS JOIN LATERAL (
        SELECT s.id, s.\(ConversationQueue.entryTime) FROM chat_sessions s
        LEFT JOIN push_notices n ON n.login_id = l.login_id AND n.session_id = s.id
        WHERE s.workspace_id = l.workspace_id AND \(isWaiting)
          AND s.\(ConversationQueue.entryTime) > l.since
          AND (n.event_at IS NULL OR n.event_at < s.\(ConversationQueue.entryTime))
        ORDER BY \(ConversationQueue.order("s")) LIMIT $2::bigint) AS s
      WHERE l.waiting AND l.is_available
      UNION ALL
      SELECT l.login_id, s.id, 'message', s.last_message_at
      FROM l JOIN chat_sessions s ON s.workspace_id = l.workspace_id
      LEFT JOIN push_notices n ON n.login_id = l.login_id AND n.session_id = s.id
      WHERE l.messages AND \(isUnanswered) AND s.last_message_at > l.since
        AND (n.event_at IS NULL OR n.event_at < s.last_message_at)
    )
    INSERT INTO push_notices AS n (login_id, session_id, reason, event_at, next_attempt_at)
    SELECT login_id, id, reason, event_at, now() FROM found ORDER BY login_id, id
    ON CONFLICT (login_id, session_id) DO UPDATE SET reason = excluded.reason,
      event_at = excluded.event_at, next_attempt_at = now(), attempts = 0, lease = NULL
    WHERE n.event_at < excluded.event_at
    """

  /// Takes due notices, at most `room`. Those that have become needless are settled: somebody has
  /// claimed, answered or read the conversation, or the login has ended, or a console is visible.
  ///
  /// - Parameter busy: the login of each request under way.
  static func take(
    lease: Identifier, leaseMilliseconds: Int64, room: Int, busy: [Identifier]
  ) -> Query {
    Query(
      takeSQL,
      [
        .uuid(lease), .int(leaseMilliseconds), .int(Int64(room)), .uuids(busy),
        .int(Int64(perBrowser)), .int(PushNotice.seconds),
      ])
  }

  private static let takeSQL: SQL = """
    WITH due AS MATERIALIZED (
      SELECT n.login_id, n.session_id, n.reason, n.event_at FROM push_notices n
      JOIN push_subscriptions p ON p.login_id = n.login_id
      WHERE n.next_attempt_at <= now()
        AND (p.paused_until IS NULL OR p.paused_until <= now())
        AND (SELECT count(*) FROM unnest($4::uuid[]) AS b (id) WHERE b.id = n.login_id)
          < $5::bigint
      ORDER BY n.next_attempt_at LIMIT $3::bigint FOR UPDATE OF n SKIP LOCKED
    ), wanted AS (
      SELECT due.login_id, due.session_id, p.key_id, p.ciphertext, v.name,
        coalesce(nullif(s.context ->> 'title', ''), s.context ->> 'page') AS page,
        CASE WHEN p.texts AND s.last_message_role IN ('visitor', 'user')
          THEN s.last_message_preview END AS text
      FROM due JOIN LATERAL (
        SELECT p.login_id, p.key_id, p.ciphertext, p.texts, l.workspace_id, l.operator_id
        \(unattended)
          AND p.login_id = due.login_id) AS p ON true
      JOIN LATERAL (SELECT p.workspace_id, p.operator_id) AS l ON true
      JOIN chat_sessions s ON s.id = due.session_id AND s.workspace_id = p.workspace_id
        AND CASE due.reason WHEN 'waiting' THEN \(isWaiting) ELSE \(isUnanswered) END
      LEFT JOIN visitors v ON v.workspace_id = s.workspace_id AND v.id = s.user_id
      WHERE due.event_at > now() - $6::bigint * interval '1 second'
    ), taken AS (
      UPDATE push_notices n SET
        lease = CASE WHEN w.login_id IS NOT NULL THEN $1::uuid END,
        attempts = n.attempts + 1,
        next_attempt_at = CASE WHEN w.login_id IS NOT NULL
          THEN now() + $2::bigint * interval '1 millisecond' END
      FROM due LEFT JOIN wanted w ON w.login_id = due.login_id AND w.session_id = due.session_id
      WHERE n.login_id = due.login_id AND n.session_id = due.session_id
      RETURNING n.login_id, n.session_id, n.reason, n.event_at, n.attempts, n.lease
    )
    SELECT t.login_id, t.session_id, t.reason, t.event_at, t.attempts, w.key_id, w.ciphertext,
      w.name, w.page, w.text
    FROM taken t LEFT JOIN wanted w ON w.login_id = t.login_id AND w.session_id = t.session_id
    """

  /// The notices that were taken, without the settled ones.
  static func notices(_ rows: Rows) -> [PushNotice] {
    (0..<rows.count).compactMap { row in
      guard let login = rows.uuid(row, 0), let session = rows.uuid(row, 1),
        let reason = rows.text(row, 2).flatMap({ PushNotice.Reason(rawValue: $0) }),
        let eventAt = rows.time(row, 3), let keyID = rows.text(row, 5),
        let bytes = rows.bytes(row, 6)
      else { return nil }
      return PushNotice(
        login: login, session: session, reason: reason, eventAt: eventAt,
        attempt: Int(rows.int(row, 4) ?? 1),
        subscription: SecretBox.Sealed(keyID: keyID, bytes: bytes),
        visitorName: rows.text(row, 7) ?? "", page: rows.text(row, 8) ?? "",
        text: rows.text(row, 9) ?? "")
    }
  }

  /// Records an attempt, unless its lease has passed to another node or to a later event.
  ///
  /// - Parameters:
  ///   - isDelivered: false: it failed.
  ///   - pause: the milliseconds until the next attempt; nil: there is none.
  ///   - pausesAll: whether other messages to the browser pause, too.
  static func finish(
    _ notice: PushNotice, lease: Identifier, isDelivered: Bool, pause: Int64?, pausesAll: Bool
  ) -> Query {
    Query(
      """
      WITH done AS (
        UPDATE push_notices SET lease = NULL,
          next_attempt_at = now() + $4::bigint * interval '1 millisecond'
        WHERE login_id = $1::uuid AND session_id = $2::uuid AND lease = $3::uuid
      )
      UPDATE push_subscriptions SET
        failures = CASE WHEN $5::boolean THEN 0 ELSE failures + 1 END,
        failing_since = CASE WHEN NOT $5::boolean THEN coalesce(failing_since, now()) END,
        paused_until = CASE WHEN $6::boolean THEN now() + $4::bigint * interval '1 millisecond' END
      WHERE login_id = $1::uuid AND (failures > 0 OR NOT $5::boolean)
      """,
      [
        .uuid(notice.login), .uuid(notice.session), .uuid(lease),
        pause.map { .int($0) } ?? .null, .bool(isDelivered), .bool(pausesAll),
      ])
  }

  /// Deletes a subscription that the browser has ended.
  static func forget(_ login: Identifier) -> Query {
    Query("DELETE FROM push_subscriptions WHERE login_id = $1::uuid", [.uuid(login)])
  }

  /// Releases the unfinished notices of a node that stops.
  static func release(lease: Identifier) -> Query {
    Query(
      """
      UPDATE push_notices SET lease = NULL, next_attempt_at = now() WHERE lease = $1::uuid
      """, [.uuid(lease)])
  }
}

/// Deletes what nobody needs any more, once a minute. Every node runs it.
enum PushSweep {
  static let intervalMilliseconds: Int64 = 60_000
  /// A browser is given up after this many failed attempts without a success, for this long.
  static let failuresMax: Int64 = 20
  static let failingDays: Int64 = 3
  /// The most rows per statement, and the most executions of a statement per sweep.
  static let rows: Int64 = 5_000
  static let rounds = 20

  /// Subscriptions of logins that have ended, and of browsers that cannot be reached.
  static var forgetSubscriptions: Query {
    Query(
      """
      DELETE FROM push_subscriptions WHERE login_id IN (
        SELECT p.login_id FROM push_subscriptions p
        WHERE p.failures >= $1::bigint AND p.failing_since < now() - $2::bigint * interval '1 day'
          OR NOT EXISTS (SELECT FROM operator_sessions l
            JOIN operators o ON o.id = l.operator_id
            JOIN memberships m
              ON m.operator_id = l.operator_id AND m.workspace_id = l.workspace_id
            WHERE l.id = p.login_id AND \(OperatorSession.isValid("l", of: "o", at: "now()")))
        LIMIT $3::bigint)
      """, [.int(failuresMax), .int(failingDays), .int(rows)])
  }

  /// Notices that can neither be sent nor be a mark: older than the events that are looked for.
  static var forgetNotices: Query {
    Query(
      """
      DELETE FROM push_notices WHERE ctid = ANY (ARRAY(SELECT ctid FROM push_notices
        WHERE event_at < now() - 2 * $1::bigint * interval '1 second' LIMIT $2::bigint))
      """, [.int(PushNotice.seconds), .int(rows)])
  }
}

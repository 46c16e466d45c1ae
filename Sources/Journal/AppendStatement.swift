import Chat
import Postgres
import Primitives
import SharedSQL

/// The statements of one batch under locks, and the batch's rows as their parameters. They settle
/// whatever `FencedStatement` leaves, and batches with a session whose last number is not known.
///
/// The locks are a separate statement, so that the next one sees what was committed while it
/// waited. All joins of `append` are nested loops over primary keys: the writer's session pins that
/// (`settings`), LATERAL and OFFSET 0 leave the planner no other path to the sessions, and a test
/// checks the plan. With a free choice the planner made batches of 10 rows 3.5 times as slow.
enum AppendStatement {
  /// If `$1` is true they end with the transaction, since a pooler's server sessions are shared.
  static let settings: SQL = """
    SELECT set_config('enable_seqscan', 'off', $1), set_config('enable_hashjoin', 'off', $1),
      set_config('enable_mergejoin', 'off', $1), set_config('enable_material', 'off', $1),
      set_config('enable_hashagg', 'off', $1), set_config('jit', 'off', $1),
      set_config('plan_cache_mode', 'force_generic_plan', $1),
      set_config('lock_timeout', '300', $1), set_config('statement_timeout', '4000', $1),
      set_config('idle_in_transaction_session_timeout', '5000', $1),
      set_config('synchronous_commit',
        CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
        ELSE current_setting('synchronous_commit') END, $1),
      \(SessionSettings.meaning)
    """

  static let lock: SQL = """
    SELECT count(*) FROM (
      SELECT FROM unnest($1, $2) AS t (workspace_id, id)
      JOIN chat_sessions AS s ON s.workspace_id = t.workspace_id AND s.id = t.id
      ORDER BY s.id FOR UPDATE OF s) AS locked
    """
  static let lockTypes: [UInt32] = [ParameterBuffer.TypeID.uuidArray, .uuidArray].map(\.rawValue)

  /// Runs before `append` if the batch has messages of operators, which claim waiting
  /// conversations.
  static let claim: SQL = "SELECT chirrup_claim_by_reply($1, $2, $3, $4, $5)"
  static let claimTypes: [UInt32] = [
    ParameterBuffer.TypeID.uuidArray, .uuidArray, .uuidArray, .uuidArray, .textArray,
  ].map(\.rawValue)

  /// Returns one row for each parameter row, in their order: verdict (see `verdict`), seq, time.
  /// The row whose ordinal is `last` updates its session: the last visible one, or else the last
  /// stored one.
  static let append: SQL = """
    WITH judged AS MATERIALIZED (
      SELECT r.*, s.last_seq, c.seq AS known_seq, c.created_at AS known_at,
        CASE
          WHEN s.id IS NULL OR s.deleted_at IS NOT NULL THEN 3
          WHEN c.session_id = r.session_id AND c.content_hash = r.hash THEN 1
          WHEN c.id IS NOT NULL THEN 2
          WHEN s.status = 'closed' AND r.role IN ('visitor', 'user') THEN 4
          ELSE 0
        END AS verdict,
        r.kind NOT IN ('note', 'event') AS shown
      FROM (
        SELECT *, \(ContentHash.of(kind: "kind", payload: "payload", content: "body")) AS hash
        FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) WITH ORDINALITY
          AS t (workspace_id, session_id, id, role, kind, sender, name, body, payload, ordinal)
      ) AS r
      LEFT JOIN LATERAL (
        SELECT id, last_seq, status, deleted_at FROM chat_sessions
        WHERE id = r.session_id AND workspace_id = r.workspace_id OFFSET 0) AS s ON true
      LEFT JOIN LATERAL (
        SELECT id, session_id, seq, content_hash, created_at
        FROM chats WHERE id = r.id AND workspace_id = r.workspace_id OFFSET 0) AS c ON true
    ), numbered AS MATERIALIZED (
      SELECT *, last_seq + count(*) FILTER (WHERE verdict = 0) OVER upto AS seq,
        last_seq + count(*) FILTER (WHERE verdict = 0) OVER whole AS head,
        count(*) FILTER (WHERE verdict = 0 AND shown) OVER whole AS messages,
        count(*) FILTER (WHERE verdict = 0 AND kind IN ('text', 'file') AND role = 'operator')
          OVER whole AS responses,
        coalesce(max(ordinal) FILTER (WHERE verdict = 0 AND shown) OVER whole,
          max(ordinal) FILTER (WHERE verdict = 0) OVER whole) AS last
      FROM judged
      WINDOW upto AS (PARTITION BY session_id ORDER BY ordinal),
        whole AS (PARTITION BY session_id)
    ), inserted AS (
      INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload,
        user_id, operator_id, operator_name, content_hash, created_at)
      SELECT id, workspace_id, session_id, seq, role, kind, body, payload,
        CASE WHEN role IN ('visitor', 'user') THEN sender END,
        CASE WHEN role IN ('operator', 'bot') THEN sender END,
        CASE WHEN role IN ('operator', 'bot') THEN name END,
        hash, statement_timestamp()
      FROM numbered WHERE verdict = 0
    ), updated AS (
      UPDATE chat_sessions AS s SET
        last_seq = n.head,
        message_count = s.message_count + n.messages,
        last_message_at = CASE WHEN n.shown THEN statement_timestamp() ELSE s.last_message_at END,
        last_message_preview = CASE WHEN n.shown THEN left(n.body, 120)
          ELSE s.last_message_preview END,
        last_message_role = CASE WHEN n.shown THEN n.role ELSE s.last_message_role END,
        first_response_at = CASE WHEN n.responses > 0
          THEN coalesce(s.first_response_at, statement_timestamp()) ELSE s.first_response_at END,
        \(ConversationQueue.enter("s", at: "statement_timestamp()")),
        updated_at = statement_timestamp()
      FROM numbered AS n
      WHERE s.id = n.session_id AND s.workspace_id = n.workspace_id AND n.ordinal = n.last
    )
    SELECT verdict, CASE verdict WHEN 0 THEN seq WHEN 1 THEN known_seq ELSE 0 END,
      CASE verdict WHEN 1 THEN known_at ELSE statement_timestamp() END
    FROM numbered ORDER BY ordinal
    """
  static let appendTypes: [UInt32] = [
    ParameterBuffer.TypeID.uuidArray, .uuidArray, .uuidArray, .textArray, .textArray, .uuidArray,
    .textArray,
    .textArray, .jsonbArray,
  ].map(\.rawValue)

  /// Writes 128 KiB to the tables' disk until the end of the transaction, if that is permitted.
  /// Only a new table has no free space from before.
  static let spill: SQL = """
    DO $$ BEGIN
      IF has_database_privilege(current_database(), 'TEMPORARY') THEN
        PERFORM set_config('temp_tablespaces', '', true);
        CREATE TEMPORARY TABLE chirrup_probe ON COMMIT DROP AS
          SELECT repeat(md5(n::text), 60) FROM generate_series(1, 64) AS n;
      END IF;
    END $$
    """

  /// The verdict for a number that `append` returns.
  static func verdict(_ number: Int32) -> Outcome.Verdict? {
    switch number {
    case 0: .stored
    case 1: .duplicate
    case 2: .conflict
    case 3: .noSuchSession
    case 4: .closed
    default: nil
    }
  }

  // MARK: Parameters, written directly from the batch

  /// The key of a session's row.
  struct SessionKey: Comparable {
    var workspace: Identifier
    var session: Identifier

    static func < (left: SessionKey, right: SessionKey) -> Bool {
      left.session == right.session
        ? left.workspace < right.workspace : left.session < right.session
    }
  }

  /// The parameters of `lock`: each session once, in the order of the locks. `keys` is storage that
  /// is reused.
  static func writeLocks(
    of batch: borrowing Batch, _ rows: [Int], _ keys: inout [SessionKey],
    to parameters: inout ParameterBuffer
  ) {
    keys.removeAll(keepingCapacity: true)
    for row in rows {
      let record = batch.record(row)
      let key = SessionKey(workspace: record.workspace, session: record.session)
      // Most messages of a session are adjacent.
      if keys.last != key { keys.append(key) }
    }
    keys.sort()
    var count = 0
    for index in keys.indices where count == 0 || keys[index] != keys[count - 1] {
      keys[count] = keys[index]
      count += 1
    }
    keys.removeLast(keys.count - count)
    parameters.appendArray(.uuidArray, of: .uuid, keys) { bytes, key in
      bytes.appendElement(key.workspace)
    }
    parameters.appendArray(.uuidArray, of: .uuid, keys) { bytes, key in
      bytes.appendElement(key.session)
    }
  }

  /// The parameters of `claim`. `replies` is storage that is reused.
  ///
  /// - Returns: false if the batch has no operator's message to a visitor.
  static func writeClaims(
    of batch: borrowing Batch, _ rows: [Int], _ replies: inout [Int],
    to parameters: inout ParameterBuffer
  ) -> Bool {
    replies.removeAll(keepingCapacity: true)
    for row in rows where batch.record(row).isReply { replies.append(row) }
    guard !replies.isEmpty else { return false }
    writeKeys(of: batch, replies, to: &parameters)
    writeSenders(of: batch, replies, to: &parameters)
    return true
  }

  /// The parameters of `append`.
  static func writeRows(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    writeKeys(of: batch, rows, to: &parameters)
    parameters.appendArray(.textArray, of: .text, rows) { bytes, row in
      bytes.appendElement(batch.record(row).role.text)
    }
    parameters.appendArray(.textArray, of: .text, rows) { bytes, row in
      bytes.appendElement(batch.record(row).kind.text)
    }
    writeSenders(of: batch, rows, to: &parameters)
    FencedStatement.writeTexts(of: batch, rows, to: &parameters)
  }

  /// Workspaces, sessions and ids of messages.
  private static func writeKeys(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    parameters.appendArray(.uuidArray, of: .uuid, rows) { bytes, row in
      bytes.appendElement(batch.record(row).workspace)
    }
    parameters.appendArray(.uuidArray, of: .uuid, rows) { bytes, row in
      bytes.appendElement(batch.record(row).session)
    }
    parameters.appendArray(.uuidArray, of: .uuid, rows) { bytes, row in
      bytes.appendElement(batch.record(row).id)
    }
  }

  /// Ids and names of senders.
  private static func writeSenders(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    parameters.appendArray(.uuidArray, of: .uuid, rows) { bytes, row in
      bytes.appendElement(batch.record(row).sender)
    }
    parameters.appendArray(.textArray, of: .text, rows) { bytes, row in
      batch.withSenderName(row) { bytes.appendElement($0) }
    }
  }
}

extension Record {
  /// An operator's message to the visitor, which claims a waiting conversation.
  fileprivate var isReply: Bool { role == .operator_ && kind != .note && kind != .event }
}

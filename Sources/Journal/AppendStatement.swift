import Chat
import Postgres
import Primitives
import SharedSQL

/// The statements of one batch, and the rows of a batch as their parameters.
///
/// The locks are a statement of their own, so that the next statement sees what was committed while
/// it waited. All joins of `append` are nested loops over primary keys: the writer's session pins
/// that (`settings`), LATERAL and OFFSET 0 leave the planner no other way to the sessions, and a
/// test reads the plan. Left free, the planner made batches of 10 rows 3.5 times as dear.
enum AppendStatement {
  /// With `$1` they end with the transaction: through a pooler a session is nobody's own.
  static let settings: SQL = """
    SELECT set_config('enable_seqscan', 'off', $1), set_config('enable_hashjoin', 'off', $1),
      set_config('enable_mergejoin', 'off', $1), set_config('enable_material', 'off', $1),
      set_config('enable_hashagg', 'off', $1), set_config('jit', 'off', $1),
      set_config('plan_cache_mode', 'force_generic_plan', $1),
      set_config('lock_timeout', '300', $1), set_config('statement_timeout', '4000', $1),
      set_config('idle_in_transaction_session_timeout', '5000', $1),
      set_config('synchronous_commit',
        CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
        ELSE current_setting('synchronous_commit') END, $1)
    """

  static let lock: SQL = """
    SELECT count(*) FROM (
      SELECT FROM unnest($1, $2) AS t (workspace_id, id)
      JOIN chat_sessions AS s ON s.workspace_id = t.workspace_id AND s.id = t.id
      ORDER BY s.id FOR UPDATE OF s) AS locked
    """
  static let lockTypes: [UInt32] = [ParameterBuffer.TypeID.uuidArray, .uuidArray].map(\.rawValue)

  /// Before the rows, where operators write: their messages claim what waits.
  static let claim: SQL = "SELECT chirrup_claim_by_reply($1, $2, $3, $4, $5)"
  static let claimTypes: [UInt32] = [
    ParameterBuffer.TypeID.uuidArray, .uuidArray, .uuidArray, .uuidArray, .textArray,
  ].map(\.rawValue)

  /// One row for each parameter row, in their order: verdict (as `verdict` below), seq, time. The
  /// row called `last` speaks for its session: the last one that is shown, or else the last one
  /// that is stored.
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
        count(*) FILTER (WHERE verdict = 0 AND kind = 'text' AND role = 'operator')
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

  /// Takes 128 KiB on the disk of the tables until the end of the transaction, where that is
  /// allowed: a table of its own is the only one that never has room left over.
  static let spill: SQL = """
    DO $$ BEGIN
      IF has_database_privilege(current_database(), 'TEMPORARY') THEN
        PERFORM set_config('temp_tablespaces', '', true);
        CREATE TEMPORARY TABLE chirrup_probe ON COMMIT DROP AS
          SELECT repeat(md5(n::text), 60) FROM generate_series(1, 64) AS n;
      END IF;
    END $$
    """

  /// The numbers that `append` answers.
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

  // MARK: Parameters, written straight from the batch

  /// A session of a batch, as its row is found.
  struct SessionKey: Comparable {
    var workspace: Identifier
    var session: Identifier

    static func < (left: SessionKey, right: SessionKey) -> Bool {
      left.session == right.session
        ? left.workspace < right.workspace : left.session < right.session
    }
  }

  /// Each session once and in the order of the locks, however many rows it has: the server looks
  /// each of these up, sorts and locks it. `keys` is storage that is used again.
  static func writeLocks(
    of batch: borrowing Batch, _ rows: [Int], _ keys: inout [SessionKey],
    to parameters: inout ParameterBuffer
  ) {
    keys.removeAll(keepingCapacity: true)
    for row in rows {
      let record = batch.record(row)
      let key = SessionKey(workspace: record.workspace, session: record.session)
      // A sender's messages mostly stand together.
      if keys.last != key { keys.append(key) }
    }
    keys.sort()
    var count = 0
    for index in keys.indices where count == 0 || keys[index] != keys[count - 1] {
      keys[count] = keys[index]
      count += 1
    }
    keys.removeLast(keys.count - count)
    parameters.append(.uuidArray) { bytes in
      bytes.appendArrayHeader(element: .uuid, count: keys.count)
      for key in keys { bytes.appendElement(key.workspace) }
    }
    parameters.append(.uuidArray) { bytes in
      bytes.appendArrayHeader(element: .uuid, count: keys.count)
      for key in keys { bytes.appendElement(key.session) }
    }
  }

  /// What operators say to visitors; false when there is nothing of it. `replies` is storage that
  /// is used again.
  static func writeClaims(
    of batch: borrowing Batch, _ rows: [Int], _ replies: inout [Int],
    to parameters: inout ParameterBuffer
  ) -> Bool {
    replies.removeAll(keepingCapacity: true)
    for row in rows where batch.record(row).isReply { replies.append(row) }
    guard !replies.isEmpty else { return false }
    writeSessions(of: batch, replies, to: &parameters)
    writeIDs(of: batch, replies, to: &parameters)
    writeSenders(of: batch, replies, to: &parameters)
    writeNames(of: batch, replies, to: &parameters)
    return true
  }

  private static func writeSessions(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    parameters.append(.uuidArray) { bytes in
      bytes.appendArrayHeader(element: .uuid, count: rows.count)
      for row in rows { bytes.appendElement(batch.record(row).workspace) }
    }
    parameters.append(.uuidArray) { bytes in
      bytes.appendArrayHeader(element: .uuid, count: rows.count)
      for row in rows { bytes.appendElement(batch.record(row).session) }
    }
  }

  private static func writeIDs(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    parameters.append(.uuidArray) { bytes in
      bytes.appendArrayHeader(element: .uuid, count: rows.count)
      for row in rows { bytes.appendElement(batch.record(row).id) }
    }
  }

  private static func writeSenders(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    parameters.append(.uuidArray) { bytes in
      bytes.appendArrayHeader(element: .uuid, count: rows.count)
      for row in rows {
        if let sender = batch.record(row).sender {
          bytes.appendElement(sender)
        } else {
          bytes.appendNullElement()
        }
      }
    }
  }

  private static func writeNames(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    parameters.append(.textArray) { bytes in
      bytes.appendArrayHeader(element: .text, count: rows.count)
      for row in rows { batch.withSenderName(row) { bytes.appendElement($0) } }
    }
  }

  static func writeRows(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    writeSessions(of: batch, rows, to: &parameters)
    writeIDs(of: batch, rows, to: &parameters)
    parameters.append(.textArray) { bytes in
      bytes.appendArrayHeader(element: .text, count: rows.count)
      for row in rows { bytes.appendElement(batch.record(row).role.text) }
    }
    parameters.append(.textArray) { bytes in
      bytes.appendArrayHeader(element: .text, count: rows.count)
      for row in rows { bytes.appendElement(batch.record(row).kind.text) }
    }
    writeSenders(of: batch, rows, to: &parameters)
    writeNames(of: batch, rows, to: &parameters)
    parameters.append(.textArray) { bytes in
      bytes.appendArrayHeader(element: .text, count: rows.count)
      for row in rows { batch.withBody(row) { bytes.appendElement($0) } }
    }
    parameters.append(.jsonbArray) { bytes in
      bytes.appendArrayHeader(element: .jsonb, count: rows.count)
      for row in rows {
        batch.withPayload(row) { payload in
          guard payload.byteCount > 0 else { return bytes.appendNullElement() }
          bytes.appendLength(payload.byteCount + 1)
          bytes.append(ParameterBuffer.jsonbVersion)
          bytes.append(payload)
        }
      }
    }
  }
}

extension Record {
  /// An operator's words to the visitor, which claim a conversation that waits.
  fileprivate var isReply: Bool { role == .operator_ && kind != .note && kind != .event }
}

extension Array where Element == UInt8 {
  fileprivate mutating func appendElement(_ id: Identifier) {
    appendLength(16)
    id.appendBytes(to: &self)
  }

  fileprivate mutating func appendElement(_ text: StaticString) {
    appendLength(text.utf8CodeUnitCount)
    append(text)
  }

  fileprivate mutating func appendElement(_ text: RawSpan) {
    appendLength(text.byteCount)
    append(text)
  }
}

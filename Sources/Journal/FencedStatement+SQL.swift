import Postgres
import SharedSQL

/// The text of the statements.
extension FencedStatement {
  /// The CASE keeps the planner from the partial indexes, which begin with less than a key.
  private static func fence(_ form: Form) -> SQL {
    let claim: SQL = """
      WHEN \(isClaimed) THEN \(ConversationQueue.isUnclaimed("s")) AND EXISTS (
        SELECT FROM memberships AS m
        WHERE m.workspace_id = r.workspace_id AND m.operator_id = r.claimant)
      """
    return """
      s.id = r.session_id AND s.workspace_id = r.workspace_id AND s.last_seq = r.head
        AND CASE WHEN s.deleted_at IS NOT NULL OR s.status = 'closed' THEN false
          \(form == .claim ? claim : "")
          ELSE s.status = 'active' OR NOT r.replies OR s.assigned_operator_id IS NOT NULL END
        \(form == .later ? "AND \(isLater)" : "")
      """
  }

  /// The entry changes no figures of an open session.
  private static let isLater: SQL =
    "s.message_count > 0 AND (NOT r.responds OR s.first_response_at IS NOT NULL)"

  private static let isClaimed: SQL = "r.claimant IS NOT NULL"

  private static let noteResponse: SQL = """
    first_response_at = CASE WHEN r.responds
      THEN coalesce(s.first_response_at, statement_timestamp()) ELSE s.first_response_at END,
    """

  private static let claimOrEnter = ConversationQueue.claimOrEnter(
    "s", if: isClaimed, by: "r.claimant", named: "r.claimant_name", at: "statement_timestamp()")
  private static let enter = ConversationQueue.enter("s", at: "statement_timestamp()")

  /// The entries about the claims, in the columns of the others.
  private static let claims: SQL = """
    SELECT workspace_id, session_id, head - 1, gen_random_uuid(), 'system', 'event', NULL::uuid,
      NULL::uuid, NULL::text, claimant_name || ' joined',
      jsonb_build_object('event', 'claimed',
        'operator', jsonb_build_object('id', claimant, 'name', claimant_name))
    FROM moved WHERE claimant IS NOT NULL
    """

  /// - Parameters:
  ///   - sessions: one row for each session of the batch, with its first entry; its alias is `r`.
  ///   - further: the rows to insert besides the first entries.
  ///
  /// Returns the place of each session that was updated, and the time of the entries.
  private static func store(sessions: SQL, further: SQL? = nil, _ form: Form) -> SQL {
    let first: SQL = """
      SELECT workspace_id, session_id, head, id, role, kind, user_id, operator_id, operator_name,
        body, payload
      FROM moved
      """
    let others: SQL = """
      \(further.map { "UNION ALL \($0)" } ?? "") \(form == .claim ? "UNION ALL \(claims)" : "")
      """
    let isPlain = further == nil && form != .claim
    return """
      WITH moved AS (
        \(update(sessions: sessions, form))
        RETURNING r.place, r.workspace_id, r.session_id, r.id, r.role, r.kind, r.user_id,
          r.operator_id, r.operator_name, r.body, r.payload, \(returned(form))
      ), inserted AS (
        \(insert)
        SELECT e.id, e.workspace_id, e.session_id, e.head + 1, e.role, e.kind, e.body, e.payload,
          e.user_id, e.operator_id, e.operator_name,
          \(ContentHash.of(kind: "e.kind", payload: "e.payload", content: "e.body")),
          statement_timestamp()
        FROM \(isPlain ? "moved" : "(\(first) \(others))") AS e
      )
      SELECT place, statement_timestamp() FROM moved
      """
  }

  /// Moves the sessions forward by the entries of the batch.
  private static func update(sessions: SQL, _ form: Form) -> SQL {
    """
    UPDATE chat_sessions AS s SET
      last_seq = r.head + r.count\(form == .claim ? " + (\(isClaimed))::int" : ""),
      message_count = s.message_count + r.messages,
      last_message_at = CASE WHEN r.messages > 0 THEN statement_timestamp()
        ELSE s.last_message_at END,
      last_message_preview = CASE WHEN r.messages > 0 THEN r.preview
        ELSE s.last_message_preview END,
      last_message_role = CASE WHEN r.messages > 0 THEN r.preview_role
        ELSE s.last_message_role END,
      \(form == .later ? "" : noteResponse)
      \(form == .claim ? claimOrEnter : enter),
      updated_at = statement_timestamp()
    FROM \(sessions)
    WHERE \(fence(form))
    """
  }

  private static let insert: SQL = """
    INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload,
      user_id, operator_id, operator_name, content_hash, created_at)
    """

  /// With the number before the first entry of the batch.
  private static func returned(_ form: Form) -> SQL {
    form == .claim
      ? "r.head + (\(isClaimed))::int AS head, r.claimant, r.claimant_name" : "r.head"
  }

  /// A statement under the name by which a connection prepares it.
  struct Prepared {
    var name: String
    var sql: SQL
    var types: [UInt32]
  }

  static let all: [Prepared] = Form.allCases.flatMap { form in
    [
      Prepared(name: name(form, .one).description, sql: one(form), types: oneTypes),
      Prepared(
        name: name(form, .each).description, sql: each(form),
        types: sessionTypes + (form == .claim ? claimTypes : [])),
      Prepared(
        name: name(form, .several).description, sql: several(form),
        types: sessionTypes + furtherTypes + (form == .claim ? claimTypes : [])),
    ]
  }

  /// A batch of one entry. PostgreSQL plans and runs it as if the values were written in place.
  /// Without a claim the INSERT takes them from the parameters: PostgreSQL then carries no columns
  /// from one part of the statement to the next, which saves a tenth of its instructions.
  private static func one(_ form: Form) -> SQL {
    let session: SQL = """
      SELECT $1 AS workspace_id, $2 AS session_id, $3 AS head, 1 AS count, $4 AS messages,
        $5 AS preview, $6 AS preview_role, $7 AS responds, $8 AS replies
      """
    guard form == .claim else {
      return """
        WITH moved AS (
          \(update(sessions: "(\(session)) AS r", form)) RETURNING s.updated_at
        )
        \(insert)
        SELECT $9, $1, $2, $3 + 1, $6, $10, $14, $15, $11, $12, $13,
          \(ContentHash.of(kind: "$10", payload: "$15", content: "$14")), updated_at
        FROM moved
        RETURNING 1::bigint, created_at
        """
    }
    return store(
      sessions: """
        (\(session), $9 AS id, $6 AS role, $10 AS kind, $11 AS user_id, $12 AS operator_id,
          $13 AS operator_name, $14 AS body, $15 AS payload, 1::bigint AS place, $12 AS claimant,
          $13 AS claimant_name) AS r
        """, form)
  }
  private static let oneTypes: [UInt32] = [
    ParameterBuffer.TypeID.uuid, .uuid, .int8, .int8, .text, .text, .bool, .bool, .uuid, .text,
    .uuid, .uuid, .text, .text, .jsonb,
  ].map(\.rawValue)

  /// - Parameter claimants: the parameters of the form `claim`.
  ///
  /// The condition has the planner expect one row, so that it never begins with a scan of the
  /// table of sessions.
  private static func sessions(_ claimants: SQL?) -> SQL {
    """
    (
      SELECT *
      FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
          \(claimants.map { ", \($0)" } ?? ""))
        WITH ORDINALITY AS t (workspace_id, session_id, head, count, messages, preview,
          preview_role, responds, replies, id, role, kind, user_id, operator_id, operator_name,
          body, payload\(claimants == nil ? "" : ", claimant, claimant_name"), place)
      WHERE head >= 0 AND count > 0
    ) AS r
    """
  }
  private static let sessionTypes: [UInt32] =
    [
      ParameterBuffer.TypeID.uuidArray, .uuidArray, .int8Array, .int8Array, .int8Array, .textArray,
      .textArray, .boolArray, .boolArray,
    ].map(\.rawValue) + entryTypes
  private static let entryTypes: [UInt32] = [
    ParameterBuffer.TypeID.uuidArray, .textArray, .textArray, .uuidArray, .uuidArray, .textArray,
    .textArray, .jsonbArray,
  ].map(\.rawValue)
  private static let claimTypes: [UInt32] = [
    ParameterBuffer.TypeID.uuidArray, .textArray,
  ].map(\.rawValue)

  /// A batch with one entry for each of its sessions.
  private static func each(_ form: Form) -> SQL {
    store(sessions: sessions(form == .claim ? "$18, $19" : nil), form)
  }

  /// A batch with further entries of its sessions.
  private static func several(_ form: Form) -> SQL {
    store(
      sessions: sessions(form == .claim ? "$28, $29" : nil),
      further: """
        SELECT m.workspace_id, m.session_id, f.seq - 1, f.id, f.role, f.kind, f.user_id,
          f.operator_id, f.operator_name, f.body, f.payload
        FROM unnest($18, $19, $20, $21, $22, $23, $24, $25, $26, $27)
          AS f (place, seq, id, role, kind, user_id, operator_id, operator_name, body, payload)
        JOIN moved AS m ON m.place = f.place
        """, form)
  }
  private static let furtherTypes: [UInt32] =
    [ParameterBuffer.TypeID.int8Array, .int8Array].map(\.rawValue) + entryTypes
}

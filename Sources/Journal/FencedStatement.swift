import Chat
import Postgres
import Primitives
import SharedSQL

/// One statement that stores a batch, and is a transaction of its own. It takes no lock before it.
///
/// The loop that owns a session knows the number of its last entry, so it brings the numbers of the
/// next ones. The statement updates a session's row only where that is still the last number, and
/// where nothing else has to be decided (`fence`). It inserts the entries of the sessions that it
/// has updated, and those only: all entries that the batch has for a session, or none. A known id
/// breaks the primary key, so that nothing of the batch is stored. `AppendStatement` then settles
/// what is left.
///
/// PostgreSQL checks the condition of an UPDATE again on the row as it is after a wait for its
/// lock, so it holds for the row that is updated. The rows are locked in the order of the batch's
/// arrays, which is that of `AppendStatement.lock`.
///
/// Every claim, transfer, close, and message of another writer changes the last number. The status
/// is compared as well, since an administrator may change a row by hand.
///
/// It has three forms, see `Form`.
enum FencedStatement {
  /// What a batch has. Each form names no more columns than it needs: PostgreSQL parses the
  /// condition of a trigger in each statement that names one of its columns, which was a seventh of
  /// the instructions of a batch of one entry.
  enum Form: CaseIterable {
    /// Later entries of sessions. The first message and the first response of a session change its
    /// figures (the trigger `chat_sessions_message_figures`), so the fence refuses them.
    case later
    /// A first entry of a session.
    case first
    /// An operator's reply to a session without an operator claims it, as `AppendStatement.claim`
    /// does: the entry about the claim comes before those of the batch.
    case claim
  }

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
        RETURNING r.place, r.workspace_id, r.session_id, r.id, r.role, r.kind, r.user_id,
          r.operator_id, r.operator_name, r.body, r.payload, \(returned(form))
      ), inserted AS (
        INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload,
          user_id, operator_id, operator_name, content_hash, created_at)
        SELECT e.id, e.workspace_id, e.session_id, e.head + 1, e.role, e.kind, e.body, e.payload,
          e.user_id, e.operator_id, e.operator_name,
          \(ContentHash.of(kind: "e.kind", payload: "e.payload", content: "e.body")),
          statement_timestamp()
        FROM \(isPlain ? "moved" : "(\(first) \(others))") AS e
      )
      SELECT place, statement_timestamp() FROM moved
      """
  }

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

  /// The rows of a batch: one; one for each of its sessions; or further ones of its sessions.
  enum Rows { case one, each, several }

  static func name(_ form: Form, _ rows: Rows) -> StaticString {
    switch (form, rows) {
    case (.later, .one): "one"
    case (.later, .each): "each"
    case (.later, .several): "several"
    case (.first, .one): "first_one"
    case (.first, .each): "first_each"
    case (.first, .several): "first_several"
    case (.claim, .one): "claim_one"
    case (.claim, .each): "claim_each"
    case (.claim, .several): "claim_several"
    }
  }

  /// A batch of one entry. PostgreSQL plans and runs it as if the values were written in place.
  private static func one(_ form: Form) -> SQL {
    store(
      sessions: """
        (SELECT $1 AS workspace_id, $2 AS session_id, $3 AS head, 1 AS count, $4 AS messages,
          $5 AS preview, $6 AS preview_role, $7 AS responds, $8 AS replies, $9 AS id, $6 AS role,
          $10 AS kind, $11 AS user_id, $12 AS operator_id, $13 AS operator_name, $14 AS body,
          $15 AS payload, 1::bigint AS place, $12 AS claimant, $13 AS claimant_name) AS r
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

  // MARK: Parameters, written directly from the batch

  /// The entries of one session in a batch.
  struct Group: Equatable {
    /// Its rows in `FencedRows.order`.
    var rows: Range<Int>
    /// The number of the last entry before.
    var head: Int64
    /// Entries that everybody sees.
    var messages: Int64 = 0
    /// The row of the last one of these, or else the first row.
    var preview: Int
    /// Whether an operator answers.
    var responds = false
    /// Whether an operator writes to the visitor, which would claim a waiting conversation.
    var replies = false
    /// The row of the first reply, if it claims the session.
    var claim: Int?
  }

  /// Characters of `chat_sessions.last_message_preview`.
  static let previewCharacters = 120

  static func writeOne(
    of batch: borrowing Batch, _ rows: borrowing FencedRows, to parameters: inout ParameterBuffer
  ) {
    let group = rows.groups[0]
    let record = batch.record(rows.order[0])
    parameters.append(.uuid) { record.workspace.appendBytes(to: &$0) }
    parameters.append(.uuid) { record.session.appendBytes(to: &$0) }
    parameters.append(.int8) { $0.append(bigEndian: UInt64(bitPattern: group.head)) }
    parameters.append(.int8) { $0.append(bigEndian: UInt64(bitPattern: group.messages)) }
    parameters.append(.text) { bytes in
      batch.withBody(rows.order[0]) { bytes.append($0.extracting(0..<$0.previewByteCount)) }
    }
    parameters.append(.text) { $0.append(record.role.text) }
    parameters.append(.bool) { $0.append(group.responds ? 1 : 0) }
    parameters.append(.bool) { $0.append(group.replies ? 1 : 0) }
    parameters.append(.uuid) { record.id.appendBytes(to: &$0) }
    parameters.append(.text) { $0.append(record.kind.text) }
    parameters.append(record.isOfUser ? record.sender : nil)
    parameters.append(record.isOfOperator ? record.sender : nil)
    if record.isOfOperator {
      parameters.append(.text) { bytes in
        batch.withSenderName(rows.order[0]) { bytes.append($0) }
      }
    } else {
      parameters.appendNull(.text)
    }
    parameters.append(.text) { bytes in batch.withBody(rows.order[0]) { bytes.append($0) } }
    let hasPayload = batch.withPayload(rows.order[0]) { $0.byteCount > 0 }
    guard hasPayload else { return parameters.appendNull(.jsonb) }
    parameters.append(.jsonb) { bytes in
      bytes.append(ParameterBuffer.jsonbVersion)
      batch.withPayload(rows.order[0]) { bytes.append($0) }
    }
  }

  /// The parameters of `each` and, with further entries, of `several`.
  static func writeAll(
    of batch: borrowing Batch, _ rows: borrowing FencedRows, to parameters: inout ParameterBuffer
  ) {
    let groups = rows.groups
    let order = rows.order
    parameters.appendArray(.uuidArray, of: .uuid, groups) { bytes, group in
      bytes.appendElement(batch.record(order[group.rows.lowerBound]).workspace)
    }
    parameters.appendArray(.uuidArray, of: .uuid, groups) { bytes, group in
      bytes.appendElement(batch.record(order[group.rows.lowerBound]).session)
    }
    parameters.appendArray(.int8Array, of: .int8, groups) { $0.appendElement($1.head) }
    parameters.appendArray(.int8Array, of: .int8, groups) { $0.appendElement(Int64($1.rows.count)) }
    parameters.appendArray(.int8Array, of: .int8, groups) { $0.appendElement($1.messages) }
    parameters.appendArray(.textArray, of: .text, groups) { bytes, group in
      batch.withBody(group.preview) { bytes.appendElement($0.extracting(0..<$0.previewByteCount)) }
    }
    parameters.appendArray(.textArray, of: .text, groups) { bytes, group in
      bytes.appendElement(batch.record(group.preview).role.text)
    }
    parameters.appendArray(.boolArray, of: .bool, groups) { $0.appendElement($1.responds) }
    parameters.appendArray(.boolArray, of: .bool, groups) { $0.appendElement($1.replies) }
    writeEntries(of: batch, rows.first, to: &parameters)
    if !rows.further.isEmpty {
      parameters.appendArray(.int8Array, of: .int8, rows.further) { bytes, row in
        bytes.appendElement(Int64(rows.places[row]) + 1)
      }
      parameters.appendArray(.int8Array, of: .int8, rows.further) { bytes, row in
        bytes.appendElement(rows.seq(of: row))
      }
      writeEntries(of: batch, rows.further, to: &parameters)
    }
    guard rows.form == .claim else { return }
    parameters.appendArray(.uuidArray, of: .uuid, groups) { bytes, group in
      bytes.appendElement(group.claim.flatMap { batch.record($0).sender })
    }
    parameters.appendArray(.textArray, of: .text, groups) { bytes, group in
      guard let claim = group.claim else { return bytes.appendNullElement() }
      batch.withSenderName(claim) { bytes.appendElement($0) }
    }
  }

  /// The columns of `chats` that the batch fills.
  private static func writeEntries(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    parameters.appendArray(.uuidArray, of: .uuid, rows) { bytes, row in
      bytes.appendElement(batch.record(row).id)
    }
    parameters.appendArray(.textArray, of: .text, rows) { bytes, row in
      bytes.appendElement(batch.record(row).role.text)
    }
    parameters.appendArray(.textArray, of: .text, rows) { bytes, row in
      bytes.appendElement(batch.record(row).kind.text)
    }
    parameters.appendArray(.uuidArray, of: .uuid, rows) { bytes, row in
      let record = batch.record(row)
      bytes.appendElement(record.isOfUser ? record.sender : nil)
    }
    parameters.appendArray(.uuidArray, of: .uuid, rows) { bytes, row in
      let record = batch.record(row)
      bytes.appendElement(record.isOfOperator ? record.sender : nil)
    }
    parameters.appendArray(.textArray, of: .text, rows) { bytes, row in
      guard batch.record(row).isOfOperator else { return bytes.appendNullElement() }
      batch.withSenderName(row) { bytes.appendElement($0) }
    }
    writeTexts(of: batch, rows, to: &parameters)
  }

  /// Bodies and payloads.
  static func writeTexts(
    of batch: borrowing Batch, _ rows: [Int], to parameters: inout ParameterBuffer
  ) {
    parameters.appendArray(.textArray, of: .text, rows) { bytes, row in
      batch.withBody(row) { bytes.appendElement($0) }
    }
    parameters.appendArray(.jsonbArray, of: .jsonb, rows) { bytes, row in
      batch.withPayload(row) { payload in
        guard payload.byteCount > 0 else { return bytes.appendNullElement() }
        bytes.appendLength(payload.byteCount + 1)
        bytes.append(ParameterBuffer.jsonbVersion)
        bytes.append(payload)
      }
    }
  }
}

extension Record {
  fileprivate var isOfUser: Bool { role == .visitor || role == .user }
  fileprivate var isOfOperator: Bool { role == .operator_ || role == .bot }
}

extension RawSpan {
  /// The length of the first characters of a UTF-8 text.
  fileprivate var previewByteCount: Int {
    guard byteCount > FencedStatement.previewCharacters else { return byteCount }
    var characters = 0
    for offset in 0..<byteCount where byte(at: offset) & 0xC0 != 0x80 {
      if characters == FencedStatement.previewCharacters { return offset }
      characters += 1
    }
    return byteCount
  }
}

extension ParameterBuffer {
  /// One array of PostgreSQL with an element for each of `items`, which `write` appends.
  @inline(__always)
  mutating func appendArray<Item>(
    _ type: TypeID, of element: TypeID, _ items: [Item], write: (inout [UInt8], Item) -> Void
  ) {
    append(type) { bytes in
      bytes.appendArrayHeader(element: element, count: items.count)
      for item in items { write(&bytes, item) }
    }
  }

  fileprivate mutating func append(_ id: Identifier?) {
    guard let id else { return appendNull(.uuid) }
    append(.uuid) { id.appendBytes(to: &$0) }
  }
}

extension Array where Element == UInt8 {
  mutating func appendElement(_ id: Identifier) {
    appendLength(16)
    id.appendBytes(to: &self)
  }

  mutating func appendElement(_ id: Identifier?) {
    guard let id else { return appendNullElement() }
    appendLength(16)
    id.appendBytes(to: &self)
  }

  mutating func appendElement(_ text: StaticString) {
    appendLength(text.utf8CodeUnitCount)
    append(text)
  }

  mutating func appendElement(_ text: RawSpan) {
    appendLength(text.byteCount)
    append(text)
  }

  fileprivate mutating func appendElement(_ number: Int64) {
    appendLength(8)
    append(bigEndian: UInt64(bitPattern: number))
  }

  fileprivate mutating func appendElement(_ value: Bool) {
    appendLength(1)
    append(value ? 1 : 0)
  }
}

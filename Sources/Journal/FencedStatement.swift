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
/// It has two forms. The short one leaves `first_response_at` alone: PostgreSQL parses the
/// condition of a trigger in each statement that names one of its columns, which was a seventh of
/// the instructions of a batch of one entry. The first message and the first response of a session
/// change its figures (the trigger `chat_sessions_message_figures`), so the fence of the short form
/// refuses them. The long form is for batches with a first entry of a session.
enum FencedStatement {
  /// The CASE keeps the planner from the partial indexes, which begin with less than a key.
  private static let fence: SQL = """
    s.id = r.session_id AND s.workspace_id = r.workspace_id AND s.last_seq = r.head
      AND CASE WHEN s.deleted_at IS NOT NULL OR s.status = 'closed' THEN false
        ELSE s.status = 'active' OR NOT r.replies OR s.assigned_operator_id IS NOT NULL END
    """

  /// The entry changes no figures of an open session.
  private static let isLater: SQL =
    "s.message_count > 0 AND (NOT r.responds OR s.first_response_at IS NOT NULL)"

  private static let noteResponse: SQL = """
    first_response_at = CASE WHEN r.responds
      THEN coalesce(s.first_response_at, statement_timestamp()) ELSE s.first_response_at END,
    """

  /// - Parameters:
  ///   - sessions: one row for each session of the batch, with its first entry; its alias is `r`.
  ///   - entries: the rows to insert, from `moved`; the alias is `e`.
  ///   - isLong: with `noteResponse`.
  ///
  /// Returns the place of each session that was updated, and the time of the entries.
  private static func store(sessions: SQL, entries: SQL, isLong: Bool) -> SQL {
    """
    WITH moved AS (
      UPDATE chat_sessions AS s SET
        last_seq = r.head + r.count,
        message_count = s.message_count + r.messages,
        last_message_at = CASE WHEN r.messages > 0 THEN statement_timestamp()
          ELSE s.last_message_at END,
        last_message_preview = CASE WHEN r.messages > 0 THEN r.preview
          ELSE s.last_message_preview END,
        last_message_role = CASE WHEN r.messages > 0 THEN r.preview_role
          ELSE s.last_message_role END,
        \(isLong ? noteResponse : "")
        \(ConversationQueue.enter("s", at: "statement_timestamp()")),
        updated_at = statement_timestamp()
      FROM \(sessions)
      WHERE \(fence) \(isLong ? "" : "AND \(isLater)")
      RETURNING r.place, r.workspace_id, r.session_id, r.head, r.id, r.role, r.kind, r.user_id,
        r.operator_id, r.operator_name, r.body, r.payload
    ), inserted AS (
      INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload,
        user_id, operator_id, operator_name, content_hash, created_at)
      SELECT e.id, e.workspace_id, e.session_id, e.head + 1, e.role, e.kind, e.body, e.payload,
        e.user_id, e.operator_id, e.operator_name,
        \(ContentHash.of(kind: "e.kind", payload: "e.payload", content: "e.body")),
        statement_timestamp()
      FROM \(entries)
    )
    SELECT place, statement_timestamp() FROM moved
    """
  }

  /// A statement under the name by which a connection prepares it.
  struct Prepared {
    var name: String
    var sql: SQL
    var types: [UInt32]
  }

  static let all: [Prepared] = [
    Prepared(name: "one", sql: one(isLong: false), types: oneTypes),
    Prepared(name: "each", sql: each(isLong: false), types: sessionTypes),
    Prepared(name: "several", sql: several(isLong: false), types: severalTypes),
    Prepared(name: "first_one", sql: one(isLong: true), types: oneTypes),
    Prepared(name: "first_each", sql: each(isLong: true), types: sessionTypes),
    Prepared(name: "first_several", sql: several(isLong: true), types: severalTypes),
  ]

  /// A batch of one entry. PostgreSQL plans and runs it as if the values were written in place.
  private static func one(isLong: Bool) -> SQL {
    store(
      sessions: """
        (SELECT $1 AS workspace_id, $2 AS session_id, $3 AS head, 1 AS count, $4 AS messages,
          $5 AS preview, $6 AS preview_role, $7 AS responds, $8 AS replies, $9 AS id, $6 AS role,
          $10 AS kind, $11 AS user_id, $12 AS operator_id, $13 AS operator_name, $14 AS body,
          $15 AS payload, 1::bigint AS place) AS r
        """, entries: "moved AS e", isLong: isLong)
  }
  private static let oneTypes: [UInt32] = [
    ParameterBuffer.TypeID.uuid, .uuid, .int8, .int8, .text, .text, .bool, .bool, .uuid, .text,
    .uuid, .uuid, .text, .text, .jsonb,
  ].map(\.rawValue)

  /// The condition has the planner expect one row, so that it never begins with a scan of the
  /// table of sessions.
  private static let sessions: SQL = """
    (
      SELECT *
      FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
        WITH ORDINALITY AS t (workspace_id, session_id, head, count, messages, preview,
          preview_role, responds, replies, id, role, kind, user_id, operator_id, operator_name,
          body, payload, place)
      WHERE head >= 0 AND count > 0
    ) AS r
    """
  private static let sessionTypes: [UInt32] =
    [
      ParameterBuffer.TypeID.uuidArray, .uuidArray, .int8Array, .int8Array, .int8Array, .textArray,
      .textArray, .boolArray, .boolArray,
    ].map(\.rawValue) + entryTypes
  private static let entryTypes: [UInt32] = [
    ParameterBuffer.TypeID.uuidArray, .textArray, .textArray, .uuidArray, .uuidArray, .textArray,
    .textArray, .jsonbArray,
  ].map(\.rawValue)

  /// A batch with one entry for each of its sessions.
  private static func each(isLong: Bool) -> SQL {
    store(sessions: sessions, entries: "moved AS e", isLong: isLong)
  }

  /// A batch with further entries of its sessions.
  private static func several(isLong: Bool) -> SQL {
    store(
      sessions: sessions,
      entries: """
        (
          SELECT workspace_id, session_id, head, id, role, kind, user_id, operator_id,
            operator_name, body, payload
          FROM moved
          UNION ALL
          SELECT m.workspace_id, m.session_id, f.seq - 1, f.id, f.role, f.kind, f.user_id,
            f.operator_id, f.operator_name, f.body, f.payload
          FROM unnest($18, $19, $20, $21, $22, $23, $24, $25, $26, $27)
            AS f (place, seq, id, role, kind, user_id, operator_id, operator_name, body, payload)
          JOIN moved AS m ON m.place = f.place
        ) AS e
        """, isLong: isLong)
  }
  private static let severalTypes: [UInt32] =
    sessionTypes + [ParameterBuffer.TypeID.int8Array, .int8Array].map(\.rawValue) + entryTypes

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
    guard !rows.further.isEmpty else { return }
    parameters.appendArray(.int8Array, of: .int8, rows.further) { bytes, row in
      bytes.appendElement(Int64(rows.places[row]) + 1)
    }
    parameters.appendArray(.int8Array, of: .int8, rows.further) { bytes, row in
      bytes.appendElement(rows.seqs[row])
    }
    writeEntries(of: batch, rows.further, to: &parameters)
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

/// The rows of a batch by session, for `FencedStatement`. Reused storage.
struct FencedRows {
  /// The rows to store by session, in the order of the locks; those of a session in their order.
  private(set) var order: [Int] = []
  private(set) var groups: [FencedStatement.Group] = []
  /// The first row of each group, and all others.
  private(set) var first: [Int] = []
  private(set) var further: [Int] = []
  /// For each row of the batch that is stored: its group, its number and its outcome's position.
  private(set) var places: [Int] = []
  private(set) var seqs: [Int64] = []
  private var positions: [Int] = []
  /// Whether a session gets its first entry.
  private var hasFirst = false

  /// The statement that stores them, by the name under which it is prepared.
  var statement: StaticString {
    if order.count == 1 { return hasFirst ? "first_one" : "one" }
    if further.isEmpty { return hasFirst ? "first_each" : "each" }
    return hasFirst ? "first_several" : "several"
  }

  mutating func group(_ batch: borrowing Batch, _ rows: [Int]) {
    order.removeAll(keepingCapacity: true)
    groups.removeAll(keepingCapacity: true)
    first.removeAll(keepingCapacity: true)
    further.removeAll(keepingCapacity: true)
    places.removeAll(keepingCapacity: true)
    seqs.removeAll(keepingCapacity: true)
    positions.removeAll(keepingCapacity: true)
    hasFirst = false
    order.append(contentsOf: rows)
    if rows.count > 1 { sort(batch) }
    places.append(contentsOf: repeatElement(0, count: batch.count))
    seqs.append(contentsOf: repeatElement(0, count: batch.count))
    positions.append(contentsOf: repeatElement(0, count: batch.count))
    for (position, row) in rows.enumerated() { positions[row] = position }
    for (place, row) in order.enumerated() { add(batch, row, at: place) }
  }

  /// The statement has stored the rows of the group at `place`.
  func settle(_ place: Int, at time: WallTime, in outcomes: inout [Outcome]) {
    precondition(groups.indices.contains(place), "the fenced statement returns places of sessions")
    for row in order[groups[place].rows] {
      outcomes[positions[row]] = Outcome(verdict: .stored, seq: seqs[row], at: time)
    }
  }

  private mutating func sort(_ batch: borrowing Batch) {
    order.sort { left, right in
      let (a, b) = (batch.record(left).session, batch.record(right).session)
      guard a == b else { return a < b }
      let (c, d) = (batch.record(left).workspace, batch.record(right).workspace)
      return c == d ? left < right : c < d
    }
  }

  private mutating func add(_ batch: borrowing Batch, _ row: Int, at place: Int) {
    let record = batch.record(row)
    let isFirst =
      place == 0 || batch.record(order[place - 1]).session != record.session
      || batch.record(order[place - 1]).workspace != record.workspace
    if isFirst {
      groups.append(
        FencedStatement.Group(rows: place..<place, head: batch.head(row), preview: row))
      first.append(row)
      if batch.head(row) == 0 { hasFirst = true }
    } else {
      further.append(row)
    }
    let last = groups.count - 1
    groups[last].rows = groups[last].rows.lowerBound..<place + 1
    places[row] = last
    seqs[row] = groups[last].head + Int64(groups[last].rows.count)
    let isShown = record.kind != .note && record.kind != .event
    if isShown {
      groups[last].messages += 1
      groups[last].preview = row
    }
    if record.role == .operator_ {
      if record.kind == .text { groups[last].responds = true }
      if isShown { groups[last].replies = true }
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

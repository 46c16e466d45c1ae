import Chat
import Postgres
import Primitives

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
  /// Without the entry about a claim.
  private var seqs: [Int64] = []
  private var positions: [Int] = []
  private(set) var form = FencedStatement.Form.later

  /// The statement that stores them, by the name under which it is prepared.
  var statement: StaticString {
    FencedStatement.name(form, order.count == 1 ? .one : further.isEmpty ? .each : .several)
  }

  /// The number of an entry.
  func seq(of row: Int) -> Int64 { seqs[row] + (groups[places[row]].claim == nil ? 0 : 1) }

  mutating func group(_ batch: borrowing Batch, _ rows: [Int]) {
    order.removeAll(keepingCapacity: true)
    groups.removeAll(keepingCapacity: true)
    first.removeAll(keepingCapacity: true)
    further.removeAll(keepingCapacity: true)
    places.removeAll(keepingCapacity: true)
    seqs.removeAll(keepingCapacity: true)
    positions.removeAll(keepingCapacity: true)
    form = .later
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
      outcomes[positions[row]] = Outcome(verdict: .stored, seq: seq(of: row), at: time)
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
      if form == .later, batch.head(row) == 0 { form = .first }
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
      if record.kind == .text || record.kind == .file { groups[last].responds = true }
      if isShown { groups[last].replies = true }
      if isShown, groups[last].claim == nil, batch.isUnclaimed(row), record.sender != nil {
        groups[last].claim = row
        form = .claim
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

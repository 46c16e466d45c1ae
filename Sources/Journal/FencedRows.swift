import Chat
import Primitives

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
      if record.kind == .text { groups[last].responds = true }
      if isShown { groups[last].replies = true }
      if isShown, groups[last].claim == nil, batch.isUnclaimed(row), record.sender != nil {
        groups[last].claim = row
        form = .claim
      }
    }
  }
}

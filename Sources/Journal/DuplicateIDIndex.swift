import Chat
import Primitives

/// Finds rows of a batch with the id of an earlier row: a client repeated a message before the
/// first attempt was answered. A reused hash table with open addressing.
struct DuplicateIDIndex {
  /// Twice the rows of the largest batch, a power of two.
  private static let slots = 1_024
  private var table = [UInt16](repeating: 0, count: DuplicateIDIndex.slots)

  mutating func describe(_ batch: borrowing Batch, into rows: inout [BatchMachine.Row]) {
    precondition(batch.count * 2 <= DuplicateIDIndex.slots)
    rows.removeAll(keepingCapacity: true)
    for slot in table.indices { table[slot] = 0 }
    for index in 0..<batch.count {
      let record = batch.record(index)
      var row = BatchMachine.Row(session: record.session, duplicateOf: nil)
      // The low half of an id of version 7 is random. Chosen collisions only lengthen the probing
      // within 1,024 slots.
      var slot = Int(
        truncatingIfNeeded: (record.id.low ^ record.id.high) % UInt64(DuplicateIDIndex.slots))
      while table[slot] != 0 {
        let other = Int(table[slot]) - 1
        if batch.record(other).id == record.id {
          row.duplicateOf = other
          row.isSame = DuplicateIDIndex.isSame(batch, other, index)
          break
        }
        slot = (slot + 1) % DuplicateIDIndex.slots
      }
      if row.duplicateOf == nil { table[slot] = UInt16(index + 1) }
      rows.append(row)
    }
  }

  /// Compares the sessions and what the content's hash covers.
  private static func isSame(_ batch: borrowing Batch, _ first: Int, _ second: Int) -> Bool {
    let one = batch.record(first)
    let other = batch.record(second)
    guard one.session == other.session, one.kind == other.kind else { return false }
    return batch.withBody(first) { a in batch.withBody(second) { areEqual(a, $0) } }
      && batch.withPayload(first) { a in batch.withPayload(second) { areEqual(a, $0) } }
  }

  private static func areEqual(_ a: RawSpan, _ b: RawSpan) -> Bool {
    guard a.byteCount == b.byteCount else { return false }
    for offset in 0..<a.byteCount where a.byte(at: offset) != b.byte(at: offset) { return false }
    return true
  }
}

/// The connections of a loop that ended recently, in memory. The oldest go first, by number, bytes
/// and age.
import Primitives
import REST

struct EndedConnections {
  static let countMax = 4_096
  static let bytesMax = 2_097_152
  static let microsecondsMax: Int64 = 24 * 3_600 * 1_000_000

  /// In the order of their ends; those before `first` have gone.
  private var records: [ConnectionRecord] = []
  private var first = 0
  private(set) var byteCount = 0

  var count: Int { records.count - first }

  mutating func add(_ record: ConnectionRecord) {
    guard let now = record.end?.at else { return }
    records.append(record)
    byteCount += record.byteCount
    while count > EndedConnections.countMax || byteCount > EndedConnections.bytesMax {
      dropFirst()
    }
    dropOld(now)
  }

  mutating func dropOld(_ now: WallTime) {
    while count > 0, let end = records[first].end,
      now.microseconds - end.at.microseconds > EndedConnections.microsecondsMax
    {
      dropFirst()
    }
  }

  private mutating func dropFirst() {
    byteCount -= records[first].byteCount
    first += 1
    // Rarely, so that the rest is not moved for each.
    guard first >= EndedConnections.countMax || first == records.count else { return }
    records.removeFirst(first)
    first = 0
  }

  func matching(_ filter: ConnectionFilter) -> [ConnectionRecord] {
    records[first...].filter { filter.accepts($0) }
  }
}

extension ConnectionRecord {
  /// Its memory: the value, the array of sessions, and texts on the heap.
  fileprivate var byteCount: Int {
    MemoryLayout<ConnectionRecord>.stride + sessions.count * MemoryLayout<Identifier>.stride
      + address.utf8.count + (end?.reason.utf8.count ?? 0)
  }
}

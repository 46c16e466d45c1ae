import Engine

/// The connections with output at the end of a turn, and the bytes of the one being written. A turn
/// without time for all of them leaves the rest to the next one.
struct OutputQueue {
  private var connections: [ConnectionIndex] = []
  private var doneCount = 0
  /// The bytes for one socket; reused storage.
  var bytes: [UInt8] = []

  /// Bytes of storage that are kept after a burst of large answers.
  private static let keptBytesMax = 4 * 1_048_576

  var hasLeft: Bool { doneCount < connections.count }

  /// Takes the connections of this turn, unless some of the last turn are left.
  mutating func fill(from engine: inout Engine) {
    guard !hasLeft else { return }
    engine.connections.takeDirty(into: &connections)
    doneCount = 0
  }

  mutating func next() -> ConnectionIndex? {
    guard hasLeft else { return nil }
    doneCount += 1
    return connections[doneCount - 1]
  }

  mutating func trim() {
    if bytes.capacity > OutputQueue.keptBytesMax { bytes = [] }
  }
}

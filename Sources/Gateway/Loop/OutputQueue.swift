import Engine

/// The connections that have something to say at the end of a turn, and the bytes of the one that
/// is written. A turn that has no time for all of them leaves the others to the next one.
struct OutputQueue {
  private var connections: [ConnectionIndex] = []
  private var doneCount = 0
  /// What is written to one socket.
  var bytes: [UInt8] = []

  /// A burst of large answers is not kept for ever.
  private static let keptBytesMax = 4 * 1_048_576

  var hasLeft: Bool { doneCount < connections.count }

  /// Takes the connections of this turn, unless those of the last one are left.
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

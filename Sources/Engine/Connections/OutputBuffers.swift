import Chat

/// Empty output buffers of a loop. A connection borrows one while output is waiting, usually for
/// one iteration, so that an idle connection holds no buffer and a busy one allocates none.
struct OutputBuffers {
  private var spare: [[UInt8]] = []
  /// The capacity of all spare buffers, at most `Limits.spareOutputBytes`.
  private(set) var byteCount = 0

  /// The capacity of a new buffer: an ack, or a few short messages.
  private static let freshByteCount = 512

  mutating func lend() -> [UInt8] {
    if let buffer = spare.popLast() {
      byteCount -= buffer.capacity
      return buffer
    }
    var buffer: [UInt8] = []
    buffer.reserveCapacity(OutputBuffers.freshByteCount)
    return buffer
  }

  mutating func giveBack(_ buffer: consuming [UInt8]) {
    let capacity = buffer.capacity
    guard capacity > 0, capacity <= Limits.spareOutputBytes - byteCount else { return }
    buffer.removeAll(keepingCapacity: true)
    byteCount += capacity
    spare.append(buffer)
  }
}

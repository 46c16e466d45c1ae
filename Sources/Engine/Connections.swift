import Chat
import Primitives

/// The connections of a loop, and the buffers for what they have to say. A buffer is lent for as
/// long as something waits in it, usually one iteration, so that an idle connection holds none and
/// a busy one allocates none.
struct Connections: ~Copyable {
  private var slab: Slab<Connection>
  /// Empty buffers, whose bytes are counted by their capacity.
  private var spare: [[UInt8]] = []
  private(set) var spareByteCount = 0

  /// The capacity of a new buffer: an ack, or a few short messages.
  private static let freshByteCount = 512

  init(limit: Int) { slab = Slab(limit: limit) }

  /// Addressors, not coroutines: those copied the whole connection here and there, with two dozen
  /// references, to read one field of it.
  @inline(__always)
  subscript(slot: Int) -> Connection {
    // SAFETY: the slab keeps the element where it is while this access lasts.
    unsafeAddress { unsafe UnsafePointer(slab.address(of: slot)) }
    unsafeMutableAddress { unsafe slab.address(of: slot) }
  }

  /// What waits for the socket of `slot`, to append to: the only way to it, so that every buffer is
  /// one of those that are lent. Others, given back, would be kept as well, one for each connection
  /// that ever came.
  @inline(__always)
  subscript(outbox slot: Int) -> [UInt8] {
    _read { yield slab[slot].outbox }
    _modify {
      if slab[slot].outbox.capacity == 0 { lendBuffer(slot) }
      yield &slab[slot].outbox
    }
  }

  private mutating func lendBuffer(_ slot: Int) {
    if let buffer = spare.popLast() {
      spareByteCount -= buffer.capacity
      slab[slot].outbox = buffer
    } else {
      slab[slot].outbox.reserveCapacity(Connections.freshByteCount)
    }
  }

  /// Moves what waits for the socket to the end of `output` and takes the buffer back. What is long
  /// and alone is not copied: the two buffers change places.
  mutating func takeOutbox(_ slot: Int, into output: inout [UInt8]) {
    var outbox: [UInt8] = []
    swap(&outbox, &slab[slot].outbox)
    if output.isEmpty && outbox.count >= Limits.copiedOutputBytes {
      swap(&output, &outbox)
    } else {
      outbox.withRawSpan { output.append($0) }
    }
    giveBack(outbox)
  }

  private mutating func giveBack(_ buffer: consuming [UInt8]) {
    let byteCount = buffer.capacity
    guard byteCount > 0, byteCount <= Limits.spareOutputBytes - spareByteCount else { return }
    buffer.removeAll(keepingCapacity: true)
    spareByteCount += byteCount
    spare.append(buffer)
  }

  var count: Int { slab.count }
  var endIndex: Int { slab.endIndex }

  @inline(__always)
  func isOccupied(_ slot: Int) -> Bool { slab.isOccupied(slot) }

  @inline(__always)
  func contains(_ id: SlotID) -> Bool { slab.contains(id) }

  @inline(__always)
  func id(at slot: Int) -> SlotID { slab.id(at: slot) }

  mutating func insert(_ connection: consuming Connection) -> SlotID? { slab.insert(connection) }

  mutating func remove(_ slot: Int) -> Connection { slab.remove(slot) }

  /// Takes back the buffer of a connection whose output nobody will read.
  mutating func dropOutbox(_ slot: Int) {
    var outbox: [UInt8] = []
    swap(&outbox, &slab[slot].outbox)
    giveBack(outbox)
  }
}

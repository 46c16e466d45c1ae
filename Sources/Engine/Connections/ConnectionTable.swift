public import Chat
public import Primitives
import Wire

/// The connections of a loop, their waiting output, and the lists of those that the driver must
/// flush, pause or close.
public struct ConnectionTable: ~Copyable {
  private var slab: Slab<Connection>
  private var buffers = OutputBuffers()
  /// Connections to flush, in the order in which they became dirty.
  private var dirty: [ConnectionIndex] = []
  /// Connections whose sockets are closed at the end of the iteration.
  private var doomed: [ConnectionIndex] = []
  private var pauseChanges: [ConnectionIndex] = []
  /// The last keys of tokens that have ended, see `hasEndedKey`: a connection that they admitted
  /// may still be on its way here.
  var endedKeys: [UInt32] = []
  static let endedKeysMax = 64
  /// When the sweep has to check each connection: see `nextCheck`.
  var checks = CheckSchedule()
  /// Errors sent, by refusal.
  private(set) var refused: [UInt64] = Array(repeating: 0, count: Refusal.allCases.count)
  /// Connections closed because their output was read too slowly.
  var slowConsumers: UInt64 = 0

  init(limit: Int) { slab = Slab(limit: limit) }

  public mutating func raise(limit: Int) { slab.raise(limit: limit) }

  /// Addressors: with coroutines, the compiler at times copied the whole connection, with two dozen
  /// references, to read one field.
  @inline(__always)
  subscript(connection: ConnectionIndex) -> Connection {
    // SAFETY: the slab keeps the element where it is while this access lasts.
    unsafeAddress { unsafe UnsafePointer(slab.address(of: connection.value)) }
    unsafeMutableAddress { unsafe slab.address(of: connection.value) }
  }

  // MARK: Membership

  public var count: Int { slab.count }

  /// Every index that was ever used; see `isOccupied`.
  var indices: Range<ConnectionIndex> { ConnectionIndex(0)..<ConnectionIndex(slab.endIndex) }

  @inline(__always)
  func isOccupied(_ connection: ConnectionIndex) -> Bool { slab.isOccupied(connection.value) }

  @inline(__always)
  func contains(_ id: ConnectionID) -> Bool { slab.contains(id.slotID) }

  @inline(__always)
  func id(at connection: ConnectionIndex) -> ConnectionID {
    ConnectionID(slab.id(at: connection.value))
  }

  func isOpen(_ connection: ConnectionIndex) -> Bool { self[connection].phase == .open }

  /// Returns nil when the table is full.
  mutating func insert(_ connection: consuming Connection) -> ConnectionID? {
    guard let id = slab.insert(connection).map({ ConnectionID($0) }) else { return nil }
    checks.setDue(id.index)
    return id
  }

  mutating func remove(_ connection: ConnectionIndex) -> Connection {
    slab.remove(connection.value)
  }

  /// The connected visitors, or those of them whose ids are in `ids`.
  public func visitors(
    in ids: Set<Identifier>?
  ) -> [(connection: ConnectionIndex, member: Member)] {
    var found: [(connection: ConnectionIndex, member: Member)] = []
    for connection in indices where isOccupied(connection) && self[connection].isVisitor {
      guard let member = self[connection].member, ids?.contains(member.person.id) ?? true
      else { continue }
      found.append((connection, member))
    }
    return found
  }

  // MARK: Output

  /// The bytes that wait for the socket. All output is appended here, so that every buffer comes
  /// from `buffers` and returns to it.
  @inline(__always)
  subscript(outbox connection: ConnectionIndex) -> [UInt8] {
    _read { yield slab[connection.value].outbox }
    _modify {
      if slab[connection.value].outbox.capacity == 0 { lendBuffer(connection) }
      yield &slab[connection.value].outbox
    }
  }

  private mutating func lendBuffer(_ connection: ConnectionIndex) {
    self[connection].outbox = buffers.lend()
  }

  /// The capacity of the buffers that no connection uses now.
  var spareByteCount: Int { buffers.byteCount }

  /// Moves the waiting bytes to the end of `output`. A long buffer is not copied but swapped with
  /// an empty `output`.
  mutating func takeOutbox(_ connection: ConnectionIndex, into output: inout [UInt8]) {
    var outbox: [UInt8] = []
    swap(&outbox, &self[connection].outbox)
    if output.isEmpty && outbox.count >= Limits.copiedOutputBytes {
      swap(&output, &outbox)
    } else {
      outbox.withRawSpan { output.append($0) }
    }
    buffers.giveBack(outbox)
  }

  /// Discards the output of a connection that ends.
  mutating func dropOutbox(_ connection: ConnectionIndex) {
    var outbox: [UInt8] = []
    swap(&outbox, &self[connection].outbox)
    buffers.giveBack(outbox)
  }

  /// Appends an uncompressed event for this connection alone.
  @inline(__always)
  mutating func send(_ connection: ConnectionIndex, _ encode: (inout [UInt8]) -> Void) {
    FrameEncoder.appendFrame(.text, to: &self[outbox: connection], body: encode)
    markDirty(connection)
  }

  /// Appends a frame that is encoded already.
  mutating func send(_ connection: ConnectionIndex, frame: [UInt8]) {
    self[outbox: connection].append(contentsOf: frame)
    markDirty(connection)
  }

  /// Answers a command with `ok`.
  mutating func confirm(_ connection: ConnectionIndex, _ ref: Reference) {
    send(connection) { EventEncoder.ok(ref: ref, to: &$0) }
  }

  /// Answers a command with an error.
  mutating func refuse(
    _ connection: ConnectionIndex, _ ref: Reference, _ refusal: Refusal,
    sentence: StaticString? = nil, field: StaticString? = nil, retryAfter: Int64? = nil
  ) {
    refused[Int(refusal.rawValue)] += 1
    send(connection) {
      EventEncoder.error(
        ref: ref, refusal, sentence: sentence, field: field, retryAfterMilliseconds: retryAfter,
        to: &$0)
    }
  }

  // MARK: The driver's lists

  @inline(__always)
  mutating func markDirty(_ connection: ConnectionIndex) {
    if !self[connection].socket.isDirty { becomeDirty(connection) }
  }

  @inline(never)
  private mutating func becomeDirty(_ connection: ConnectionIndex) {
    self[connection].socket.isDirty = true
    dirty.append(connection)
    checks.setDue(connection)
  }

  var hasDirty: Bool { !dirty.isEmpty }

  /// Replaces the content of `taken` by the connections to flush, in the order in which they became
  /// dirty.
  public mutating func takeDirty(into taken: inout [ConnectionIndex]) {
    taken.removeAll(keepingCapacity: true)
    swap(&taken, &dirty)
  }

  mutating func setPaused(_ connection: ConnectionIndex, _ isPaused: Bool) {
    guard self[connection].socket.isPaused != isPaused else { return }
    self[connection].socket.isPaused = isPaused
    pauseChanges.append(connection)
  }

  public func isPaused(_ connection: ConnectionIndex) -> Bool {
    isOccupied(connection) && self[connection].socket.isPaused
  }

  /// Cheaper than `takePauseChanges`, which retains even an empty array.
  public var hasPauseChanges: Bool { !pauseChanges.isEmpty }

  /// Connections whose reading must be paused or resumed, according to `isPaused`.
  public mutating func takePauseChanges() -> [ConnectionIndex] {
    guard !pauseChanges.isEmpty else { return [] }
    defer { pauseChanges = [] }
    return pauseChanges
  }

  /// Ends a connection whose socket is closed at the end of the iteration.
  mutating func doom(_ connection: ConnectionIndex) {
    self[connection].phase = .finished
    doomed.append(connection)
  }

  /// Connections whose sockets the driver must close, at the end of the iteration.
  public mutating func takeDoomed() -> [ConnectionIndex] {
    guard !doomed.isEmpty else { return [] }
    defer { doomed = [] }
    return doomed
  }
}

/// Events of sockets, reported by the driver.
extension ConnectionTable {
  /// Bytes that wait for the socket, without those that `Engine.collect` will add from the logs.
  public func outputByteCount(_ connection: ConnectionIndex) -> Int {
    self[connection].outbox.count
  }

  /// Puts bytes in front of all waiting output: the response to the upgrade.
  public mutating func preface(_ connection: ConnectionIndex, _ bytes: [UInt8]) {
    self[outbox: connection].insert(contentsOf: bytes, at: 0)
    markDirty(connection)
  }

  /// The socket took everything that `collect` gave. Without effect while the socket is full, since
  /// `collect` then gives nothing. A finished connection is closed once its outbox is empty.
  public mutating func flushed(_ connection: ConnectionIndex, now: Instant) {
    guard !self[connection].socket.isBlocked else { return }
    self[connection].startHolds(now: now)
    if self[connection].socket.isPaused && isOpen(connection) { setPaused(connection, false) }
    if self[connection].phase == .finished && self[connection].outbox.isEmpty { doom(connection) }
  }

  /// The socket is full, and `rest` of what `collect` gave waits for `writable`. A connection whose
  /// output waits is not read. Without effect while the socket is full, since `collect` then gives
  /// nothing: sealed bytes of TLS have failed to leave once more.
  public mutating func blocked(
    _ connection: ConnectionIndex, rest: ArraySlice<UInt8>, now: Instant
  ) {
    guard !self[connection].socket.isBlocked else { return }
    self[outbox: connection].removeAll(keepingCapacity: true)
    self[outbox: connection].append(contentsOf: rest)
    // They are collected again.
    self[connection].traffic.bytesOut &-= UInt64(rest.count)
    self[connection].stopHolds()
    self[connection].socket.isBlocked = true
    self[connection].socket.blockedSince = now
    if isOpen(connection) { setPaused(connection, true) }
  }

  /// The socket takes bytes again. The connection is flushed in this iteration.
  public mutating func writable(_ connection: ConnectionIndex, now: Instant) {
    guard isOccupied(connection), self[connection].socket.isBlocked else { return }
    self[connection].socket.isBlocked = false
    self[connection].socket.blockedSince = now
    self[connection].subscriptions.mustPumpAll = true
    markDirty(connection)
  }

  /// The peer ended the stream, or it broke: output is discarded.
  public mutating func peerEnded(_ connection: ConnectionIndex) {
    guard isOccupied(connection), self[connection].phase != .finished else { return }
    if self[connection].ending == nil { self[connection].ending = .lost }
    doom(connection)
  }
}

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

/// When the passing of time next changes something for each connection. Kept apart from the
/// connections, so that a sweep reads one word of an idle one and not its record.
struct CheckSchedule {
  private var times: [Instant] = []

  /// Adds the connections that came since the last sweep; their check is due.
  mutating func extend(to end: ConnectionIndex) {
    while times.count < end.value { times.append(.zero) }
  }

  @inline(__always)
  func isDue(_ connection: ConnectionIndex, _ now: Instant) -> Bool {
    now >= times[connection.value]
  }

  mutating func set(_ connection: ConnectionIndex, _ time: Instant) {
    times[connection.value] = time
  }

  /// The next sweep checks the connection.
  mutating func setDue(_ connection: ConnectionIndex) {
    if connection.value < times.count { times[connection.value] = .zero }
  }
}

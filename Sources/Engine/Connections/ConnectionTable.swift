public import Chat
public import Primitives
import Wire

/// The connections of a loop, the buffers for their output, and the lists of those that need
/// something from the driver: a flush, a pause of their reading, an end.
///
/// A buffer is lent for as long as something waits in it, usually one iteration, so that an idle
/// connection holds none and a busy one allocates none.
public struct ConnectionTable: ~Copyable {
  private var slab: Slab<Connection>
  /// Empty buffers, whose bytes are counted by their capacity.
  private var spare: [[UInt8]] = []
  private(set) var spareByteCount = 0
  /// Connections to flush, in the order in which they became dirty.
  private var dirty: [ConnectionIndex] = []
  /// Connections whose sockets are closed at the end of the iteration.
  private var doomed: [ConnectionIndex] = []
  private var pauseChanges: [ConnectionIndex] = []
  /// When time alone changes something for a connection next; see `nextCheck`. Apart from the
  /// connections, so that a sweep over idle ones reads one word of each.
  private var nextChecks: [Instant] = []
  /// Errors sent, by refusal.
  private(set) var refused: [UInt64] = Array(repeating: 0, count: Refusal.allCases.count)
  private(set) var slowConsumers: UInt64 = 0

  /// The capacity of a new buffer: an ack, or a few short messages.
  private static let freshByteCount = 512

  init(limit: Int) { slab = Slab(limit: limit) }

  /// Addressors, not coroutines: those copied the whole connection here and there, with two dozen
  /// references, to read one field of it.
  @inline(__always)
  subscript(connection: ConnectionIndex) -> Connection {
    // SAFETY: the slab keeps the element where it is while this access lasts.
    unsafeAddress { unsafe UnsafePointer(slab.address(of: connection.value)) }
    unsafeMutableAddress { unsafe slab.address(of: connection.value) }
  }

  // MARK: Who is there

  public var count: Int { slab.count }

  /// All places that were ever used; `isOccupied` says which are in use now.
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

  /// Nil when the table is full.
  mutating func insert(_ connection: consuming Connection) -> ConnectionID? {
    guard let id = slab.insert(connection).map({ ConnectionID($0) }) else { return nil }
    checkSoon(id.index)
    return id
  }

  mutating func remove(_ connection: ConnectionIndex) -> Connection {
    slab.remove(connection.value)
  }

  /// The visitors who are connected, of all or of these.
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

  /// The bytes that wait for the socket, to append to: the only way to them, so that every buffer
  /// is one of those that are lent. Others, given back, would be kept as well, one for each
  /// connection that ever came.
  @inline(__always)
  subscript(outbox connection: ConnectionIndex) -> [UInt8] {
    _read { yield slab[connection.value].outbox }
    _modify {
      if slab[connection.value].outbox.capacity == 0 { lendBuffer(connection) }
      yield &slab[connection.value].outbox
    }
  }

  private mutating func lendBuffer(_ connection: ConnectionIndex) {
    if let buffer = spare.popLast() {
      spareByteCount -= buffer.capacity
      self[connection].outbox = buffer
    } else {
      self[connection].outbox.reserveCapacity(ConnectionTable.freshByteCount)
    }
  }

  /// Moves the waiting bytes to the end of `output` and takes the buffer back. A long buffer for an
  /// empty output is not copied: the two change places.
  mutating func takeOutbox(_ connection: ConnectionIndex, into output: inout [UInt8]) {
    var outbox: [UInt8] = []
    swap(&outbox, &self[connection].outbox)
    if output.isEmpty && outbox.count >= Limits.copiedOutputBytes {
      swap(&output, &outbox)
    } else {
      outbox.withRawSpan { output.append($0) }
    }
    giveBack(outbox)
  }

  /// Takes back the buffer of a connection whose output nobody will read.
  mutating func dropOutbox(_ connection: ConnectionIndex) {
    var outbox: [UInt8] = []
    swap(&outbox, &self[connection].outbox)
    giveBack(outbox)
  }

  private mutating func giveBack(_ buffer: consuming [UInt8]) {
    let byteCount = buffer.capacity
    guard byteCount > 0, byteCount <= Limits.spareOutputBytes - spareByteCount else { return }
    buffer.removeAll(keepingCapacity: true)
    spareByteCount += byteCount
    spare.append(buffer)
  }

  /// Appends an event for this connection alone, uncompressed.
  @inline(__always)
  mutating func send(_ connection: ConnectionIndex, _ encode: (inout [UInt8]) -> Void) {
    FrameEncoder.appendFrame(.text, to: &self[outbox: connection], body: encode)
    markDirty(connection)
  }

  /// Appends an encoded frame.
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
    if !self[connection].isDirty { becomeDirty(connection) }
  }

  @inline(never)
  private mutating func becomeDirty(_ connection: ConnectionIndex) {
    self[connection].isDirty = true
    dirty.append(connection)
    checkSoon(connection)
  }

  var hasDirty: Bool { !dirty.isEmpty }

  /// The connections to flush, in the order they became dirty.
  public mutating func takeDirty(into taken: inout [ConnectionIndex]) {
    taken.removeAll(keepingCapacity: true)
    swap(&taken, &dirty)
  }

  mutating func setPaused(_ connection: ConnectionIndex, _ isPaused: Bool) {
    guard self[connection].isPaused != isPaused else { return }
    self[connection].isPaused = isPaused
    pauseChanges.append(connection)
  }

  public func isPaused(_ connection: ConnectionIndex) -> Bool {
    isOccupied(connection) && self[connection].isPaused
  }

  /// Asked before `takePauseChanges`, which hands out a reference even to an empty array.
  public var hasPauseChanges: Bool { !pauseChanges.isEmpty }

  /// Connections whose reading has to be paused or resumed, see `isPaused`.
  public mutating func takePauseChanges() -> [ConnectionIndex] {
    guard !pauseChanges.isEmpty else { return [] }
    defer { pauseChanges = [] }
    return pauseChanges
  }

  /// Gives up a connection whose socket is of no use any more.
  mutating func doom(_ connection: ConnectionIndex) {
    self[connection].phase = .finished
    doomed.append(connection)
  }

  /// Connections whose sockets are to be closed now, at the end of the iteration.
  public mutating func takeDoomed() -> [ConnectionIndex] {
    guard !doomed.isEmpty else { return [] }
    defer { doomed = [] }
    return doomed
  }

  // MARK: The next check by the sweep

  /// Something happened to the connection: the next sweep looks at it.
  mutating func checkSoon(_ connection: ConnectionIndex) {
    if connection.value < nextChecks.count { nextChecks[connection.value] = .zero }
  }

  /// Call it before a sweep.
  mutating func prepareSweep() {
    while nextChecks.count < slab.endIndex { nextChecks.append(.zero) }
  }

  @inline(__always)
  func isCheckDue(_ connection: ConnectionIndex, _ now: Instant) -> Bool {
    now >= nextChecks[connection.value] && isOccupied(connection)
  }

  mutating func setNextCheck(_ connection: ConnectionIndex, _ time: Instant) {
    nextChecks[connection.value] = time
  }

  mutating func countSlowConsumer() { slowConsumers += 1 }
}

/// The driver's side of a flush.
extension ConnectionTable {
  /// Bytes that wait for the socket, without those that `Engine.collect` adds from the logs.
  public func outputByteCount(_ connection: ConnectionIndex) -> Int {
    self[connection].outbox.count
  }

  /// Puts bytes in front of everything: the answer to the upgrade.
  public mutating func preface(_ connection: ConnectionIndex, _ bytes: [UInt8]) {
    self[outbox: connection].insert(contentsOf: bytes, at: 0)
    markDirty(connection)
  }

  /// The socket took everything that `collect` gave, which is nothing while it is full: then news
  /// for a peer that does not read is no sign that it reads. A connection whose close frame was
  /// the last one is closed once all is taken.
  public mutating func flushed(_ connection: ConnectionIndex, now: Instant) {
    guard !self[connection].isBlocked else { return }
    self[connection].startHolds(now: now)
    if self[connection].isPaused && isOpen(connection) { setPaused(connection, false) }
    if self[connection].phase == .finished && self[connection].outbox.isEmpty { doom(connection) }
  }

  /// The socket is full; `rest` waits for `writable`. A peer that does not read is not read from
  /// either.
  public mutating func blocked(
    _ connection: ConnectionIndex, rest: ArraySlice<UInt8>, now: Instant
  ) {
    self[outbox: connection].removeAll(keepingCapacity: true)
    self[outbox: connection].append(contentsOf: rest)
    if !self[connection].isBlocked {
      self[connection].stopHolds()
      self[connection].isBlocked = true
      self[connection].blockedSince = now
    }
    if isOpen(connection) { setPaused(connection, true) }
  }

  /// The socket takes bytes again: it is flushed in this iteration.
  public mutating func writable(_ connection: ConnectionIndex, now: Instant) {
    guard isOccupied(connection), self[connection].isBlocked else { return }
    self[connection].isBlocked = false
    self[connection].blockedSince = now
    self[connection].mustPumpAll = true
    markDirty(connection)
  }

  /// The peer ended or broke the stream: nobody reads the output any more.
  public mutating func peerEnded(_ connection: ConnectionIndex) {
    guard isOccupied(connection), self[connection].phase != .finished else { return }
    if self[connection].closeCode == nil { self[connection].closeCode = .abnormal }
    doom(connection)
  }
}

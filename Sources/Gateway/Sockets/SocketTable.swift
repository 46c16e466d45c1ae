import Engine
import Kernel
import Logging
import Primitives

/// The place of a socket in its loop's table. A number of its own kind: the engine counts
/// connections and sessions by others.
struct SocketIndex: Equatable, Sendable {
  fileprivate let number: Int

  fileprivate init(_ number: Int) { self.number = number }
}

/// The name of one socket: a place in the table is used again, a name never is. Events and mail
/// that carry an old one find nobody.
struct SocketID: Hashable, Sendable {
  fileprivate let slot: SlotID

  fileprivate init(_ slot: SlotID) { self.slot = slot }

  /// As epoll carries it. The generation of a slot in use is odd, so that the word is never below
  /// `Datum.socketMin`.
  init(datum: UInt64) { slot = SlotID(word: datum) }

  var datum: UInt64 { slot.word }
  var index: SocketIndex { SocketIndex(Int(slot.index)) }

  /// No socket's.
  fileprivate static let none = SocketID(SlotID(index: 0, generation: 0))
}

/// The client sockets of one loop, what epoll watches of each, which of them belongs to which
/// connection of the engine, and which are closed at the end of the turn.
///
/// Invariant: a socket that is doomed stays in the table until `takeDoomed` has named it, so that
/// no place is used again while an event of this turn may still name it.
struct SocketTable: ~Copyable {
  private var slab: Slab<ClientSocket>
  /// By the engine's number of a connection, for as long as that lives.
  private var idOfConnection: [SocketID] = []
  private var doomed: [SocketID] = []
  /// How many of `doomed` are taken.
  private var doomedTaken = 0
  private let logger: Logger

  init(limit: Int, logger: Logger) {
    slab = Slab(limit: limit)
    self.logger = logger
  }

  var count: Int { slab.count }

  /// Through addressors: coroutine accessors are not inlined into closures, and each call of one
  /// then allocates its frame (three allocations of a TLS message).
  subscript(socket: SocketIndex) -> ClientSocket {
    // SAFETY: the slab checks that the place is in use; the address is valid until the table
    // changes, which the borrow of the table excludes.
    @inline(__always) unsafeAddress { unsafe UnsafePointer(slab.address(of: socket.number)) }
    @inline(__always) unsafeMutableAddress { unsafe slab.address(of: socket.number) }
  }

  @inline(__always)
  func contains(_ id: SocketID) -> Bool { slab.contains(id.slot) }

  @inline(__always)
  func id(at socket: SocketIndex) -> SocketID { SocketID(slab.id(at: socket.number)) }

  /// In the table, and not about to leave it.
  @inline(__always)
  func isAlive(_ socket: SocketIndex) -> Bool {
    slab.isOccupied(socket.number) && !self[socket].isDoomed
  }

  /// The first socket behind this one, from the beginning without one: for a walk over all.
  func next(after socket: SocketIndex?) -> SocketIndex? {
    var number = socket.map { $0.number + 1 } ?? 0
    while number < slab.endIndex {
      if slab.isOccupied(number) { return SocketIndex(number) }
      number += 1
    }
    return nil
  }

  // MARK: Coming and going

  /// Nil when the table is full, or when the kernel cannot watch one more: the socket is closed.
  mutating func insert(
    _ socket: consuming ClientSocket, _ epoll: borrowing Epoll
  ) -> SocketID? {
    guard let slot = slab.insert(socket) else { return nil }
    let id = SocketID(slot)
    do throws(Errno) {
      try epoll.add(self[id.index].descriptor, self[id.index].interest, datum: id.datum)
    } catch {
      logger.error("cannot watch a socket: \(error)")
      _ = remove(id.index)
      return nil
    }
    return id
  }

  /// Closes the socket unless the caller keeps it; its place may be used again.
  mutating func remove(_ socket: SocketIndex) -> ClientSocket { slab.remove(socket.number) }

  /// Closed at the end of the turn: nothing more is read from it.
  mutating func doom(_ socket: SocketIndex) {
    guard !self[socket].isDoomed else { return }
    self[socket].isDoomed = true
    doomed.append(id(at: socket))
  }

  /// The peer has gone, so that nobody waits for its end.
  mutating func doomEnded(_ socket: SocketIndex) {
    self[socket].hasEnded = true
    doom(socket)
  }

  var hasDoomed: Bool { doomedTaken < doomed.count }

  /// The sockets to be closed, one after the other; those that are left are the next turn's.
  mutating func takeDoomed() -> SocketID? {
    while hasDoomed {
      let id = doomed[doomedTaken]
      doomedTaken += 1
      if !hasDoomed {
        doomed.removeAll(keepingCapacity: true)
        doomedTaken = 0
      }
      if contains(id) { return id }
    }
    return nil
  }

  // MARK: Connections

  mutating func bind(_ id: SocketID, toConnection connection: ConnectionIndex) {
    let place = connection.value
    while idOfConnection.count <= place { idOfConnection.append(.none) }
    idOfConnection[place] = id
  }

  func socket(ofConnection connection: ConnectionIndex) -> SocketIndex? {
    let place = connection.value
    guard place < idOfConnection.count, contains(idOfConnection[place]) else { return nil }
    return idOfConnection[place].index
  }

  // MARK: Reading

  /// Receives `limit` bytes at most, at the beginning of `input`.
  func receive(_ socket: SocketIndex, into input: inout [UInt8], limit: Int) -> ReadOutcome {
    input.withMutableRawSpan { all in
      var room = all._mutatingExtracting(0..<limit)
      return self[socket].descriptor.receive(into: &room)
    }
  }

  /// Gives the exchange of an HTTP connection the bytes at `range` of `input`.
  @inline(never)
  mutating func receiveRequest(
    _ socket: SocketIndex, _ input: [UInt8], _ range: Range<Int>, now: Instant
  ) {
    input.withRawSpan { self[socket].exchange.receive($0.extracting(range), now: now) }
  }

  /// The same as `receive`, but the bytes stay in the kernel.
  func peek(_ socket: SocketIndex, into input: inout [UInt8], limit: Int) -> ReadOutcome {
    input.withMutableRawSpan { all in
      var room = all._mutatingExtracting(0..<limit)
      return self[socket].descriptor.peek(into: &room)
    }
  }

  // MARK: Watching

  /// Sets what epoll watches, where that has changed. A socket that cannot be watched is of no use.
  mutating func watch(_ socket: SocketIndex, _ interest: Interest, _ epoll: borrowing Epoll) {
    guard self[socket].interest != interest else { return }
    self[socket].interest = interest
    do throws(Errno) {
      try epoll.modify(self[socket].descriptor, interest, datum: id(at: socket).datum)
    } catch {
      logger.error("cannot watch a socket: \(error)")
      doomEnded(socket)
    }
  }
}

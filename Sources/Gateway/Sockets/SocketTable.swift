import Engine
import Kernel
import Logging
import Primitives

/// The index of a socket in its loop's table; a type of its own, like the engine's indices of
/// connections and sessions.
struct SocketIndex: Equatable, Sendable {
  fileprivate let number: Int

  fileprivate init(_ number: Int) { self.number = number }
}

/// The unique name of one socket. An index is reused, a name is not: events and mail with an old
/// name are ignored.
struct SocketID: Hashable, Sendable {
  fileprivate let slot: SlotID

  fileprivate init(_ slot: SlotID) { self.slot = slot }

  /// The form that epoll carries. The generation of a used slot is odd, so the value is at least
  /// `Datum.socketMin`.
  init(datum: UInt64) { slot = SlotID(word: datum) }

  var datum: UInt64 { slot.word }
  var index: SocketIndex { SocketIndex(Int(slot.index)) }

  /// No socket has this name.
  fileprivate static let none = SocketID(SlotID(index: 0, generation: 0))
}

/// The client sockets of one loop, their registration in epoll, the engine's connection of each,
/// and the doomed ones, which are closed at the end of the turn.
///
/// Invariant: a doomed socket stays in the table until `takeDoomed` has returned it, so that no
/// index is reused while an event of this turn may refer to it.
struct SocketTable: ~Copyable {
  private var slab: Slab<ClientSocket>
  /// By index of the engine's connections. Entries of closed connections are stale.
  private var idOfConnection: [SocketID] = []
  private var doomed: [SocketID] = []
  /// How many of `doomed` are taken.
  private var doomedTaken = 0
  private let logger: Logger

  init(limit: Int, logger: Logger) {
    slab = Slab(limit: limit)
    self.logger = logger
  }

  mutating func raise(limit: Int) { slab.raise(limit: limit) }

  var count: Int { slab.count }

  /// Addressors, since coroutine accessors are not inlined into closures, and each call of one then
  /// allocates its frame (three allocations of a TLS message).
  subscript(socket: SocketIndex) -> ClientSocket {
    // SAFETY: the slab checks that the index is in use; the address is valid until the table
    // changes, which the borrow of the table excludes.
    @inline(__always) unsafeAddress { unsafe UnsafePointer(slab.address(of: socket.number)) }
    @inline(__always) unsafeMutableAddress { unsafe slab.address(of: socket.number) }
  }

  @inline(__always)
  func contains(_ id: SocketID) -> Bool { slab.contains(id.slot) }

  @inline(__always)
  func id(at socket: SocketIndex) -> SocketID { SocketID(slab.id(at: socket.number)) }

  /// Whether the socket is in the table and not doomed.
  @inline(__always)
  func isAlive(_ socket: SocketIndex) -> Bool {
    slab.isOccupied(socket.number) && !self[socket].isDoomed
  }

  /// The next socket in the order of indices; the first one for nil. Nil at the end.
  func next(after socket: SocketIndex?) -> SocketIndex? {
    var number = socket.map { $0.number + 1 } ?? 0
    while number < slab.endIndex {
      if slab.isOccupied(number) { return SocketIndex(number) }
      number += 1
    }
    return nil
  }

  // MARK: Insertion and removal

  /// Inserts a socket and watches it.
  ///
  /// - Returns: nil if the table is full or epoll cannot watch the socket, which is then closed.
  mutating func insert(
    _ socket: consuming ClientSocket, _ epoll: borrowing Epoll
  ) -> SocketID? {
    guard let slot = slab.insert(socket) else { return nil }
    let id = SocketID(slot)
    do throws(Errno) {
      try epoll.add(self[id.index].descriptor, self[id.index].interest, datum: id.datum)
    } catch {
      logger.error("cannot watch the socket of a client: \(error)")
      _ = remove(id.index)
      return nil
    }
    return id
  }

  /// Frees the index. The socket is closed unless the caller keeps it.
  mutating func remove(_ socket: SocketIndex) -> ClientSocket { slab.remove(socket.number) }

  /// Marks the socket to be closed at the end of the turn; nothing more is read from it.
  mutating func doom(_ socket: SocketIndex) {
    guard !self[socket].isDoomed else { return }
    self[socket].isDoomed = true
    doomed.append(id(at: socket))
  }

  /// The same for a socket whose peer has gone: it does not linger.
  mutating func doomEnded(_ socket: SocketIndex) {
    self[socket].hasEnded = true
    doom(socket)
  }

  var hasDoomed: Bool { doomedTaken < doomed.count }

  /// The next socket to be closed. Those that are left are closed in the next turn.
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

  /// Nil once the connection is closed, also while its socket lingers. Output that one turn could
  /// not send may still name it in the next.
  func socket(ofConnection connection: ConnectionIndex) -> SocketIndex? {
    let place = connection.value
    guard place < idOfConnection.count, contains(idOfConnection[place]) else { return nil }
    let socket = idOfConnection[place].index
    guard case .webSocket(let bound) = self[socket].phase, bound == connection else { return nil }
    return socket
  }

  // MARK: Reading

  /// Receives at most `limit` bytes to the beginning of `input`.
  func receive(_ socket: SocketIndex, into input: inout [UInt8], limit: Int) -> ReadOutcome {
    input.withMutableRawSpan { all in
      var room = all._mutatingExtracting(0..<limit)
      return self[socket].descriptor.receive(into: &room)
    }
  }

  /// Appends the bytes at `range` of `input` to the exchange of an HTTP connection.
  @inline(never)
  mutating func receiveRequest(
    _ socket: SocketIndex, _ input: [UInt8], _ range: Range<Int>, now: Instant
  ) {
    input.withRawSpan { self[socket].exchange.receive($0.extracting(range), now: now) }
  }

  /// Like `receive`, but the bytes stay in the kernel.
  func peek(_ socket: SocketIndex, into input: inout [UInt8], limit: Int) -> ReadOutcome {
    input.withMutableRawSpan { all in
      var room = all._mutatingExtracting(0..<limit)
      return self[socket].descriptor.peek(into: &room)
    }
  }

  // MARK: Watching

  /// Sets the events that epoll reports, if they have changed. A socket that cannot be watched is
  /// closed.
  mutating func watch(_ socket: SocketIndex, _ interest: Interest, _ epoll: borrowing Epoll) {
    guard self[socket].interest != interest else { return }
    self[socket].interest = interest
    do throws(Errno) {
      try epoll.modify(self[socket].descriptor, interest, datum: id(at: socket).datum)
    } catch {
      logger.error("cannot watch the socket of a client: \(error)")
      doomEnded(socket)
    }
  }
}

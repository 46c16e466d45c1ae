import Kernel
import OpenSSL
import Primitives

/// TLS on one loop: which handshakes are driven, and the way from a socket's bytes to plain ones
/// and back. What a socket says inside is the loop's, the same for plain sockets.
///
/// Until its ClientHello is there whole, a connection has a socket and nothing else: the loop
/// peeks, and the bytes stay in the kernel. Then it waits for room among the handshakes, and only
/// then gets an OpenSSL object. A half-open connection costs 0.3 KiB this way, and 46 KiB with the
/// object.
struct TLSDriver {
  /// For new connections; nil without TLS.
  private var certificates: TLSContext?
  let workspace = TLSWorkspace()
  private let admission: Admission
  private var queue = HandshakeQueue()
  /// Handshakes that may still be driven in this turn.
  private var handshakesLeft = TLSDriver.handshakesPerTurn
  /// Sockets whose TLS has something to say for itself.
  private var unsent: [SocketID] = []

  /// Handshakes that are driven in one turn. One costs up to a millisecond, almost all of it the
  /// signature; the others wait behind the conversations, in the kernel, and epoll brings them back
  /// at once.
  static let handshakesPerTurn = 4
  /// From the accept to the end of the handshake, however slowly it comes (faults T02).
  static let handshakeMilliseconds: Int64 = 10_000
  /// Bytes that a socket's TLS may hold for a peer that does not read: answers to key updates,
  /// which come without the engine's bounds.
  private static let unsentBytesMax = 262_144
  /// Edge-triggered: what is peeked at stays readable, and would wake the loop for ever.
  static let helloInterest: Interest = [.read, .readHangUp, .edgeTriggered]

  init(_ certificates: TLSContext?, _ admission: Admission) {
    self.certificates = certificates
    self.admission = admission
  }

  mutating func use(_ certificates: TLSContext) { self.certificates = certificates }

  mutating func beginTurn() { handshakesLeft = TLSDriver.handshakesPerTurn }

  var isHandshakeDue: Bool { queue.isDue }
  var handshakesUnderWay: Int { queue.underWay }
  var handshakesWaiting: Int { queue.count }

  // MARK: Handshakes

  enum HelloStep {
    /// For more bytes, or for its turn.
    case waiting
    case ended
    case refused(TLSFault)
  }

  /// Bytes came, or the peer has shut its side. Each look begins at the first byte.
  mutating func receiveHello(
    _ socket: SocketIndex, until deadline: Instant, hasHungUp: Bool,
    _ sockets: inout SocketTable, _ input: inout [UInt8]
  ) -> HelloStep {
    switch sockets.peek(socket, into: &input, limit: TLSHello.byteCountMax) {
    case .bytes(let count):
      switch input.withRawSpan({ TLSHello($0.extracting(0..<count)) }) {
      case .incomplete: return hasHungUp ? .ended : .waiting
      case .whole:
        sockets[socket].phase = .helloQueued(until: deadline)
        queue.append(sockets.id(at: socket))
        return .waiting
      case .broken(let fault, let alert):
        sockets[socket].startsTLS = false
        if let alert {
          // One try: the gateway does not wait for such a peer.
          _ = TLSHello.record(alert: alert).withRawSpan { sockets[socket].descriptor.send($0) }
        }
        return .refused(fault)
      }
    case .wouldBlock: return .waiting
    case .endOfStream, .reset, .failed: return .ended
    }
  }

  /// Begins to wait for handshakes in this turn: how many of the queue are looked at.
  var looksPerTurn: Int { min(queue.count, HandshakeQueue.looksPerTurn) }

  /// Starts the next of the handshakes that wait, if the turn and the limits allow one.
  ///
  /// - Parameter looks: entries of the queue that may still be looked at.
  mutating func startHandshake(
    _ looks: inout Int, _ sockets: inout SocketTable, _ epoll: borrowing Epoll, now: Instant
  ) -> SocketIndex? {
    while handshakesLeft > 0, looks > 0, let id = queue.takeFirst() {
      looks -= 1
      let socket = id.index
      guard sockets.contains(id), !sockets[socket].isDoomed,
        case .helloQueued(let deadline) = sockets[socket].phase, let certificates
      else { continue }
      switch admission.beginHandshake(sockets[socket].caller.peer.ip) {
      case .admitted: break
      case .full:
        queue.putBack(id)
        return nil
      case .tooManyFromAddress:
        queue.refuse(id)
        continue
      }
      queue.began()
      sockets[socket].startsTLS = false
      sockets[socket].tls = TLSSession(server: certificates)
      sockets[socket].phase = .handshake(until: deadline)
      sockets[socket].exchange.deadline = now.advanced(
        byMilliseconds: HandshakeQueue.patienceMilliseconds)
      sockets.watch(socket, .read, epoll)
      return socket
    }
    return nil
  }

  /// Gives the place of a handshake back, however it ended. To be called before its socket enters
  /// another phase.
  mutating func endHandshake(_ socket: SocketIndex, _ sockets: borrowing SocketTable) {
    guard case .handshake = sockets[socket].phase else { return }
    admission.endHandshake(sockets[socket].caller.peer.ip)
    queue.ended()
  }

  /// When a handshake under way has to be over: it has less time while others wait for its place.
  /// The socket's exchange, which begins anew after the handshake, keeps that time.
  func limit(
    ofHandshake socket: SocketIndex, until deadline: Instant, _ sockets: borrowing SocketTable
  ) -> Instant {
    queue.isEmpty ? deadline : min(deadline, sockets[socket].exchange.deadline)
  }

  // MARK: Receiving

  enum Received {
    case nothing
    /// Sealed bytes, to be opened one record after the other.
    case records(TLSCursor)
    case ended
  }

  mutating func receive(
    _ socket: SocketIndex, _ sockets: inout SocketTable, _ input: inout [UInt8],
    _ metrics: inout LoopMetrics
  ) -> Received {
    if case .handshake = sockets[socket].phase {
      guard handshakesLeft > 0 else { return .nothing }
      handshakesLeft -= 1
    }
    let places = input.withMutableRawSpan { sockets[socket].tls?.prepare(&$0) }
    guard let (start, fill) = places else { return .nothing }
    let outcome = input.withMutableRawSpan { buffer in
      sockets[socket].descriptor.receive(into: &buffer, from: fill)
    }
    switch outcome {
    case .bytes(let count):
      metrics.bytesReceived &+= UInt64(count)
      return .records(TLSCursor(next: start, end: fill + count))
    case .wouldBlock: return .records(TLSCursor(next: start, end: fill))
    case .endOfStream, .reset, .failed: return .ended
    }
  }

  /// Opens the next record. Plain bytes stand in `input` afterwards.
  func open(
    _ socket: SocketIndex, _ cursor: inout TLSCursor, _ sockets: inout SocketTable,
    _ input: inout [UInt8]
  ) -> TLSStep {
    let step = input.withMutableRawSpan { buffer in
      sockets[socket].tls?.open(&buffer, &cursor, workspace)
    }
    return step ?? .needMoreBytes
  }

  /// The socket speaks HTTP inside TLS from here on.
  mutating func noteEstablished(
    _ socket: SocketIndex, _ sockets: inout SocketTable, now: Instant
  ) {
    endHandshake(socket, sockets)
    sockets[socket].phase = .http
    sockets[socket].beginHTTP(now)
  }

  /// Somebody who speaks HTTP without TLS gets an answer that can be read.
  mutating func fallBackToHTTP(
    _ socket: SocketIndex, _ sockets: inout SocketTable, now: Instant
  ) {
    endHandshake(socket, sockets)
    sockets[socket].tls = nil
    sockets[socket].phase = .http
    sockets[socket].beginHTTP(now)
    sockets[socket].exchange.fail()
  }

  // MARK: Sending

  /// What TLS itself has to say waits for the flush. A peer that does not read it is closed.
  mutating func noteUnsent(
    _ socket: SocketIndex, _ sockets: inout SocketTable, _ metrics: inout LoopMetrics
  ) {
    guard sockets[socket].hasUnsent else { return }
    if sockets[socket].tls?.unsentByteCount ?? 0 > TLSDriver.unsentBytesMax {
      metrics.faults.count(.tls, "answers are not read")
      sockets.doomEnded(socket)
    }
    unsent.append(sockets.id(at: socket))
  }

  mutating func becameWritable(_ id: SocketID) { unsent.append(id) }

  /// Asked before `takeUnsent`, which hands out a reference even to an empty array.
  var hasUnsent: Bool { !unsent.isEmpty }

  mutating func takeUnsent() -> [SocketID] {
    guard !unsent.isEmpty else { return [] }
    defer { unsent.removeAll(keepingCapacity: true) }
    return unsent
  }

  /// Sends a flight of the handshake, an answer to a key update, an alert.
  ///
  /// - Returns: false when the peer has gone.
  func flush(
    _ socket: SocketIndex, _ sockets: inout SocketTable, _ epoll: borrowing Epoll,
    _ metrics: inout LoopMetrics
  ) -> Bool {
    switch sockets[socket].flushUnsent() {
    case .bytes(let count):
      metrics.bytesSent &+= UInt64(count)
      let interest = sockets[socket].interest
      if sockets[socket].hasUnsent {
        sockets.watch(socket, interest.union(.write), epoll)
      } else if case .handshake = sockets[socket].phase {
        sockets.watch(socket, .read, epoll)
      }
      return true
    case .wouldBlock: return true
    case .reset, .failed: return false
    }
  }

  /// Says goodbye without waiting for the peer's, and gives the session up as soon as the socket
  /// has taken everything.
  func close(_ socket: SocketIndex, _ sockets: inout SocketTable) {
    guard sockets[socket].isSecure else { return }
    sockets[socket].tls?.close(workspace)
    _ = sockets[socket].flushUnsent()
    if !sockets[socket].hasUnsent { sockets[socket].tls = nil }
  }
}

import Kernel
import OpenSSL
import Primitives

/// TLS on one loop: its handshakes, and opening and sealing of records. The plain bytes are handled
/// by the loop, like those of plain sockets.
///
/// Until its ClientHello is complete, a connection is only a socket: the loop peeks at the bytes,
/// which stay in the kernel. The connection then waits for a place among the handshakes, and gets
/// an OpenSSL object with it. So a half-open connection takes 0.3 KiB instead of 46 KiB.
struct TLSDriver {
  /// For new connections; nil without TLS.
  private var certificates: TLSContext?
  let workspace = TLSWorkspace()
  private let admission: Admission
  private var queue = HandshakeQueue()
  /// Handshakes that may still be continued in this turn.
  private var handshakesLeft = TLSDriver.handshakesPerTurn
  /// Sockets with bytes of TLS itself to be sent: handshakes, alerts, answers to key updates.
  var unsent = UnsentSockets()

  /// Handshakes that are continued in one turn. One takes up to a millisecond, mostly for the
  /// signature. The others stay in the kernel until after the conversations; epoll reports them
  /// again at once.
  static let handshakesPerTurn = 4
  /// From the accept to the end of the handshake, also for slow senders (faults T02).
  static let handshakeMilliseconds: Int64 = 10_000
  /// Unsent bytes of TLS itself that one socket may hold. A peer that sends key updates and does
  /// not read the answers is not bounded by the engine.
  private static let unsentBytesMax = 262_144
  /// Edge-triggered, since peeked bytes stay readable and would wake the loop again and again.
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
    /// For more bytes, or for a place among the handshakes.
    case waiting
    case ended
    case refused(TLSFault)
  }

  /// Handles bytes of a ClientHello, or the end of the peer's side. Each call peeks from the first
  /// byte.
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
          // One attempt: the gateway does not wait for such a peer.
          _ = TLSHello.record(alert: alert).withRawSpan { sockets[socket].descriptor.send($0) }
        }
        return .refused(fault)
      }
    case .wouldBlock: return .waiting
    case .endOfStream, .reset, .failed: return .ended
    }
  }

  /// How many queued handshakes may be tried in one turn.
  var startTriesPerTurn: Int { min(queue.count, HandshakeQueue.triesPerTurn) }

  /// Starts the next queued handshake, if the turn and the limits allow one.
  ///
  /// - Parameter tries: queued handshakes that may still be tried in this turn.
  /// - Returns: its socket, from which the ClientHello can be read.
  mutating func startHandshake(
    _ tries: inout Int, _ sockets: inout SocketTable, _ epoll: borrowing Epoll, now: Instant
  ) -> SocketIndex? {
    while handshakesLeft > 0, tries > 0, let id = queue.takeFirst() {
      tries -= 1
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

  /// Releases the place of a handshake, completed or not. Call it before its socket enters another
  /// phase.
  mutating func endHandshake(_ socket: SocketIndex, _ sockets: borrowing SocketTable) {
    guard case .handshake = sockets[socket].phase else { return }
    admission.endHandshake(sockets[socket].caller.peer.ip)
    queue.ended()
  }

  /// The deadline of a handshake; it is earlier while others wait for its place. That one is kept
  /// in the socket's HTTP exchange, which the handshake does not use and which is reset after it.
  func limit(
    ofHandshake socket: SocketIndex, until deadline: Instant, _ sockets: borrowing SocketTable
  ) -> Instant {
    queue.isEmpty ? deadline : min(deadline, sockets[socket].exchange.deadline)
  }

  /// Nanoseconds since the accept of a socket whose handshake is under way.
  func handshakeTime(
    _ socket: SocketIndex, _ sockets: borrowing SocketTable, now: Instant
  ) -> Int64? {
    guard case .handshake(let deadline) = sockets[socket].phase else { return nil }
    let began = deadline.advanced(byMilliseconds: -TLSDriver.handshakeMilliseconds)
    return now.nanoseconds &- began.nanoseconds
  }

  // MARK: Receiving

  enum Received {
    case nothing
    /// Sealed bytes; `open` opens them record by record.
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

  /// Opens the next record. Its plain bytes are in `input` afterwards.
  func open(
    _ socket: SocketIndex, _ cursor: inout TLSCursor, _ sockets: inout SocketTable,
    _ input: inout [UInt8]
  ) -> TLSStep {
    let step = input.withMutableRawSpan { buffer in
      sockets[socket].tls?.open(&buffer, &cursor, workspace)
    }
    return step ?? .needMoreBytes
  }

  /// The handshake is complete: the socket speaks HTTP inside TLS now.
  mutating func noteEstablished(
    _ socket: SocketIndex, _ sockets: inout SocketTable, now: Instant
  ) {
    endHandshake(socket, sockets)
    sockets[socket].phase = .http
    sockets[socket].beginHTTP(now)
  }

  /// Lets a client that speaks HTTP without TLS receive a plain response.
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

  /// Queues bytes of TLS itself for the flush. A peer that does not read them is closed.
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

  /// Sends bytes of TLS itself.
  ///
  /// - Returns: false if the peer has gone.
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

  /// Sends close_notify without waiting for the peer's, and drops the session when everything is
  /// sent.
  func close(_ socket: SocketIndex, _ sockets: inout SocketTable) {
    guard sockets[socket].isSecure else { return }
    sockets[socket].tls?.close(workspace)
    _ = sockets[socket].flushUnsent()
    if !sockets[socket].hasUnsent { sockets[socket].tls = nil }
  }
}

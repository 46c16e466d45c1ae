/// Many connections on one epoll at minimal cost: dense values in a slab, one receive buffer, one
/// shared request, and queues only where needed. The workloads (`echo`, `fanout`, `upgrade`) own
/// the messages; this type owns the connections.
///
/// One core must saturate one core of the fastest server, or the figures are those of the client.
import Foundation
import Kernel
import OpenSSL
import Primitives

struct Swarm: ~Copyable {
  enum Phase: UInt8 { case connecting, upgrading, open }

  /// The result of a read; received bytes went to the closure.
  enum Arrival { case bytes, nothing, opened, ended }

  struct Peer: ~Copyable {
    let transport: Transport
    let endpoint: UInt8
    var phase = Phase.connecting
    var waitsForRoom = false
  }

  private(set) var openCount = 0
  /// Ended connections by reason, without those that we closed.
  private(set) var endings: [String: Int] = [:]
  /// The reason of the last one of them.
  private(set) var lastEnding: String?
  private(set) var begun = 0
  private var endpoints: [SwarmEndpoint]
  private let sources: SourceAddresses
  private let epoll: Epoll
  private let workspace = TLSWorkspace()
  private var events = Events(capacity: 1024)
  private var peers: Slab<Peer>
  /// Incomplete heads, and bytes that did not fit into a socket; both are rare.
  private var heads: [Int: [UInt8]] = [:]
  private var queues: [Int: [UInt8]] = [:]
  private let isPolling: Bool
  /// Processor time spent polling, which is not the workload's.
  private(set) var polledNanoseconds: Int64 = 0

  static let bufferByteCount = 524_288

  init(_ endpoints: [SwarmEndpoint], limit: Int, isPolling: Bool = false) throws(Errno) {
    precondition(
      !endpoints.isEmpty && endpoints.count < 256, "a swarm has a endpoint to come in by")
    self.endpoints = endpoints
    self.isPolling = isPolling
    sources = SourceAddresses(to: endpoints[0].target, process: getpid())
    epoll = try Epoll()
    peers = Slab(limit: limit)
  }

  // MARK: Events

  mutating func wait(nanoseconds: Int64) throws(Errno) {
    try epoll.wait(into: &events, timeoutNanoseconds: isPolling ? 0 : max(0, nanoseconds))
    guard isPolling, events.count == 0 else { return }
    let begin = SystemClock.threadTimeNanoseconds()
    let limit = SystemClock.now().nanoseconds + nanoseconds
    while events.count == 0, SystemClock.now().nanoseconds < limit {
      try epoll.wait(into: &events, timeoutNanoseconds: 0)
    }
    polledNanoseconds += SystemClock.threadTimeNanoseconds() - begin
  }

  var eventCount: Int { events.count }

  @inline(__always)
  func event(_ position: Int) -> Event { events[position] }

  /// Whether the connection exists; an event may refer to one that has ended.
  func contains(_ index: Int) -> Bool { peers.isOccupied(index) }

  func phase(_ index: Int) -> Phase { peers[index].phase }

  /// Connections that are not open yet.
  var underWay: Int { peers.count - openCount }

  // MARK: Opening

  /// Starts one more connection and returns its index; nil where the kernel refused it.
  mutating func begin(endpoint: Int = 0) throws(Errno) -> Int? {
    begun += 1
    let transport: Transport
    do throws(Errno) {
      transport = try Transport(endpoints[endpoint].target, from: sources[begun - 1], workspace)
    } catch {
      endings["connect: \(error.name)", default: 0] += 1
      return nil
    }
    guard let id = peers.insert(Peer(transport: transport, endpoint: UInt8(endpoint))) else {
      return nil
    }
    let index = Int(id.index)
    // On one machine the TCP handshake is complete when connect returns: sending the request now
    // saves an event.
    if case .some(true) = sendRequest(index, isNew: true) {
      peers[index].phase = .upgrading
    } else if peers.contains(id) {
      peers[index].waitsForRoom = true
    } else {
      return nil
    }
    let interest: Interest = peers[index].waitsForRoom ? [.read, .write] : .read
    try peers[index].transport.register(in: epoll, interest, datum: UInt64(index))
    return index
  }

  /// Sends the request. Returns true when it was sent, false when it must wait, nil when the
  /// connection has ended.
  private mutating func sendRequest(_ index: Int, isNew: Bool) -> Bool? {
    let endpoint = Int(peers[index].endpoint)
    // Plain bytes have no request, and TLS has a handshake first; in both cases the connect must
    // complete.
    if endpoints[endpoint].isBare || endpoints[endpoint].target.isSecure, isNew { return false }
    if endpoints[endpoint].isBare { return true }
    let count = endpoints[endpoint].request.count
    switch peers[index].transport.send(endpoints[endpoint].request, from: 0) {
    case .bytes(count): return true
    case .bytes: end(index, "no room for a request")
    case .wouldBlock: return false
    case .reset: end(index, "lost")
    case .failed(let error): end(index, error.name)
    }
    return nil
  }

  /// The socket became writable: connected, or with room for queued bytes.
  mutating func writable(_ index: Int) throws(Errno) -> Arrival {
    if peers[index].phase == .connecting {
      if let error = try peers[index].transport.pendingError() {
        end(index, error.name)
        return .ended
      }
      guard case .bytes = peers[index].transport.sendUnsent() else { return .nothing }
      switch sendRequest(index, isNew: false) {
      case .some(true): break
      // TLS: the request waits for the end of the handshake.
      case .some(false):
        try setWaiting(index, false)
        return .nothing
      case .none: return .ended
      }
      peers[index].phase = .upgrading
      try setWaiting(index, false)
      guard endpoints[Int(peers[index].endpoint)].isBare else { return .nothing }
      peers[index].phase = .open
      openCount += 1
      return .opened
    }
    return try flushQueue(index) ? .nothing : .ended
  }

  // MARK: Receiving

  /// Reads once. `take` gets the bytes of an open connection, with TLS one call per record.
  @inline(__always)
  mutating func receive(
    _ index: Int, _ buffer: inout [UInt8], _ take: (RawSpan) -> Void
  ) throws(Errno) -> Arrival {
    guard peers[index].phase == .open else { return try receiveHead(index, &buffer, take) }
    let received = peers[index].transport.receive(&buffer) { span in
      take(span.bytes)
      return true
    }
    switch received {
    case .some: return .bytes
    case .nothing: return .nothing
    case .ended(let end):
      self.end(index, end.label)
      return .ended
    }
  }

  private mutating func receiveHead(
    _ index: Int, _ buffer: inout [UInt8], _ take: (RawSpan) -> Void
  ) throws(Errno) -> Arrival {
    var head = heads.isEmpty ? [] : heads.removeValue(forKey: index) ?? []
    let received = peers[index].transport.receive(&buffer) { span in
      head.append(span.bytes)
      return true
    }
    if case .ended(let end) = received {
      self.end(index, end.label)
      return .ended
    }
    if peers[index].phase == .connecting {
      guard try shakeHands(index) else { return peers.isOccupied(index) ? .nothing : .ended }
    }
    switch endpoints[Int(peers[index].endpoint)].judge(head) {
    case .none:
      heads[index] = head
      return .nothing
    case .some(.failure(let refusal)):
      end(index, refusal.label)
      return .ended
    case .some(.success(let count)):
      peers[index].phase = .open
      openCount += 1
      if count < head.count { head.withRawSpan { take($0.extracting(count..<$0.byteCount)) } }
      return .opened
    }
  }

  /// Continues a TLS handshake; true when the request was sent.
  private mutating func shakeHands(_ index: Int) throws(Errno) -> Bool {
    switch peers[index].transport.sendUnsent() {
    case .bytes: break
    case .wouldBlock:
      try setWaiting(index, true)
      return false
    case .reset, .failed:
      end(index, "lost")
      return false
    }
    guard peers[index].transport.isEstablished, sendRequest(index, isNew: false) == true else {
      return false
    }
    peers[index].phase = .upgrading
    return true
  }

  // MARK: Sending

  /// Sends as many bytes as fit; nil when the connection has ended. The caller keeps the rest and
  /// gets an event when there is room.
  @inline(__always)
  mutating func send(_ index: Int, _ bytes: RawSpan) throws(Errno) -> Int? {
    let outcome = peers[index].transport.send(bytes)
    if case .bytes(let count) = outcome, count == bytes.byteCount,
      !peers[index].transport.hasUnsent
    {
      if peers[index].waitsForRoom { try setWaiting(index, false) }
      return count
    }
    return try sendRest(index, bytes, outcome)
  }

  private mutating func sendRest(
    _ index: Int, _ bytes: RawSpan, _ first: WriteOutcome
  ) throws(Errno) -> Int? {
    var outcome = first
    var sent = 0
    while true {
      switch outcome {
      case .bytes(let count):
        sent += count
        // TLS seals a part at a time; a plain socket that took a part is full.
        if sent < bytes.byteCount, count > 0, !peers[index].transport.hasUnsent {
          outcome = peers[index].transport.send(bytes, from: sent)
          continue
        }
      case .wouldBlock: break
      case .reset, .failed:
        end(index, "lost")
        return nil
      }
      try setWaiting(index, sent < bytes.byteCount || peers[index].transport.hasUnsent)
      return sent
    }
  }

  /// Sends whole frames outside a workload's stream, such as pongs; bytes that do not fit are
  /// queued.
  mutating func sendFrames(_ index: Int, _ bytes: RawSpan) throws(Errno) {
    if queues[index] != nil {
      queues[index]?.append(bytes)
      return
    }
    guard let sent = try send(index, bytes), sent < bytes.byteCount else { return }
    var rest: [UInt8] = []
    rest.append(bytes.extracting(sent..<bytes.byteCount))
    queues[index] = rest
  }

  /// Whether queued bytes must be sent first.
  func hasQueue(_ index: Int) -> Bool { !queues.isEmpty && queues[index] != nil }

  private mutating func flushQueue(_ index: Int) throws(Errno) -> Bool {
    switch peers[index].transport.sendUnsent() {
    case .bytes: break
    case .wouldBlock: return true
    case .reset, .failed:
      end(index, "lost")
      return false
    }
    if let queue = queues.removeValue(forKey: index) {
      try queue.withRawSpan { (span) throws(Errno) in try sendFrames(index, span) }
    } else {
      try setWaiting(index, false)
    }
    return peers.isOccupied(index)
  }

  private mutating func setWaiting(_ index: Int, _ waits: Bool) throws(Errno) {
    if peers[index].waitsForRoom == waits { return }
    peers[index].waitsForRoom = waits
    try peers[index].transport.update(
      in: epoll, waits ? [.read, .write] : .read, datum: UInt64(index))
  }

  // MARK: Ending

  /// Removes a connection; `label` is the reason if we did not close it.
  mutating func end(_ index: Int, _ label: String?) {
    guard peers.isOccupied(index) else { return }
    let peer = peers.remove(index)
    if peer.phase == .open { openCount -= 1 }
    if let label {
      endings[label, default: 0] += 1
      lastEnding = label
    }
    heads[index] = nil
    queues[index] = nil
  }

  /// Ends all connections with a RST, so that none keeps its port for a minute.
  mutating func resetAll() {
    for index in 0..<peers.endIndex where peers.isOccupied(index) {
      try? peers[index].transport.resetOnClose()
      end(index, nil)
    }
  }
}

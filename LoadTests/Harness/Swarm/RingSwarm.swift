/// A swarm whose connections send and receive the messages of a ring: shared by `echo` and the
/// fan-out of other servers.
import Kernel
import Primitives
import Wire

struct RingSwarm: ~Copyable {
  private(set) var swarm: Swarm
  var verifier: RingVerifier
  private var buffer = [UInt8](repeating: 0, count: Swarm.bufferByteCount)
  /// Pongs that wait for the end of a partly sent frame.
  private var delayed: [Int: [UInt8]] = [:]
  private let connections: Int

  private static let underWayMax = 256
  private static let openSecondsMax: Int64 = 60

  /// `endpoints` has one endpoint for each kind of connection.
  init(
    _ endpoints: [SwarmEndpoint], connections: Int, ring: FrameRing, course: WorkCourse
  ) throws(Errno) {
    self.connections = connections
    swarm = try Swarm(endpoints, limit: connections, isPolling: course.busyPoll)
    verifier = RingVerifier(ring: ring, connections: connections, verifiesAll: course.verify)
  }

  // MARK: Phases

  /// Opens all connections; `endpoint` gives the kind of each.
  mutating func open(_ endpoint: (Int) -> Int) throws {
    let limit = SystemClock.now().advanced(byMilliseconds: RingSwarm.openSecondsMax * 1000)
    while swarm.openCount < connections {
      guard swarm.endings.isEmpty, SystemClock.now() < limit else {
        throw WorkFailure.notOpened(
          open: swarm.openCount, wanted: connections, endings: swarm.endings)
      }
      while swarm.begun < connections, swarm.underWay < RingSwarm.underWayMax,
        swarm.endings.isEmpty
      {
        _ = try swarm.begin(endpoint: endpoint(swarm.begun))
      }
      try wait(nanoseconds: 100_000_000)
      for position in 0..<eventCount { _ = try handle(position) }
    }
  }

  /// Sends close frames to all without waiting for answers.
  mutating func close() {
    guard verifier.ring.shape != nil else { return }
    var goodbye: [UInt8] = []
    FrameEncoder.appendMaskedClose(.normal, maskKey: 0, to: &goodbye)
    for index in 0..<connections where swarm.contains(index) {
      _ = try? goodbye.withRawSpan { (span) throws(Errno) in try swarm.sendFrames(index, span) }
    }
  }

  /// Problems of the swarm and of the verifier.
  var problems: [String] {
    let endings = swarm.endings
    return verifier.problems + (endings.isEmpty ? [] : ["connections ended: \(list(endings))"])
  }

  // MARK: Events

  @inline(__always)
  mutating func wait(nanoseconds: Int64) throws(Errno) {
    try swarm.wait(nanoseconds: nanoseconds)
  }

  var eventCount: Int { swarm.eventCount }

  /// Handles an event: returns the connection, and the number of messages that it completed.
  @inline(__always)
  mutating func handle(_ position: Int) throws(Errno) -> (index: Int, count: Int) {
    let event = swarm.event(position)
    let index = Int(event.datum)
    guard swarm.contains(index) else { return (index, 0) }
    if event.isWritable, try swarm.writable(index) != .ended { try flush(index) }
    guard event.isReadable || event.isHungUp, swarm.contains(index) else { return (index, 0) }
    var count = 0
    _ = try swarm.receive(index, &buffer) { count &+= verifier.take(index, $0) }
    if !verifier.controls.isEmpty { try answerControls() }
    return (index, count)
  }

  /// Queues `count` more messages; they are sent when the socket has room.
  @inline(__always)
  mutating func owe(_ index: Int, _ count: Int) throws(Errno) {
    verifier.peers[index].sent &+= count
    verifier.peers[index].owed &+= count &* verifier.ring.frameByteCount
    try flush(index)
  }

  private mutating func flush(_ index: Int) throws(Errno) {
    if swarm.hasQueue(index) || !swarm.contains(index) { return }
    if !delayed.isEmpty { try sendDelayed(index) }
    let owed = verifier.peers[index].owed
    if owed > 0 { _ = try sendRing(index, owed) }
  }

  private mutating func sendRing(_ index: Int, _ owed: Int) throws(Errno) -> Int {
    let range = verifier.ring.range(position: verifier.peers[index].position, owed: owed)
    let taken = try verifier.ring.frames.withRawSpan { (span) throws(Errno) in
      try swarm.send(index, span.extracting(range))
    }
    let wrap = verifier.ring.count &* verifier.ring.frameByteCount
    var position = verifier.peers[index].position &+ (taken ?? 0)
    while position >= wrap { position &-= wrap }
    verifier.peers[index].position = position
    verifier.peers[index].owed &-= taken ?? 0
    return taken ?? 0
  }

  // MARK: Control frames

  private mutating func answerControls() throws(Errno) {
    for (index, opcode, payload) in verifier.takeControls() {
      switch opcode {
      case .ping:
        var pong: [UInt8] = []
        payload.withRawSpan {
          FrameEncoder.appendMaskedFrame(.pong, payload: $0, maskKey: 0, to: &pong)
        }
        delayed[index, default: []] += pong
        try flush(index)
      case .close:
        let code = payload.count > 1 ? Int(payload[0]) << 8 | Int(payload[1]) : 1005
        swarm.end(index, "closed with \(code)")
      default: break
      }
    }
  }

  /// Sends a delayed pong, after the end of a partly sent frame.
  private mutating func sendDelayed(_ index: Int) throws(Errno) {
    guard let pong = delayed[index] else { return }
    let size = verifier.ring.frameByteCount
    let rest = (size - verifier.peers[index].position % size) % size
    if rest > 0, try sendRing(index, rest) < rest { return }
    delayed[index] = nil
    try pong.withRawSpan { (span) throws(Errno) in try swarm.sendFrames(index, span) }
  }
}

/// Runs `upgrade`: opens a number of connections, some of them at a time.
import Histogram
import Kernel
import Primitives
import Wire

struct UpgradeRun: ~Copyable {
  private struct Peer {
    var begun = Instant.zero
    var walker = FrameWalker()
    var isDone = false
  }

  private let connections: Int
  private let parallel: Int
  /// The first frame of each connection; empty where only the handshake counts.
  private let greetings: [[UInt8]]
  private var swarm: Swarm
  private var peers: [Peer]
  private var doneCount = 0
  private var problem: String?
  private var latency = latencyHistogram()
  private var buffer = [UInt8](repeating: 0, count: Swarm.bufferByteCount)

  private static let openSecondsMax: Int64 = 120

  init(
    _ endpoint: SwarmEndpoint, connections: Int, parallel: Int, greetings: [[UInt8]]
  ) throws(Errno) {
    self.connections = connections
    self.parallel = parallel
    self.greetings = greetings
    swarm = try Swarm([endpoint], limit: connections)
    peers = Array(repeating: Peer(), count: connections)
  }

  mutating func measure(url: String, server: Int?) throws -> WorkFigures {
    let begin = try ProcessorTime(server: server)
    try open()
    let end = try ProcessorTime(server: server)
    var figures = WorkFigures("upgrade", url: url)
    figures.connections = connections
    figures.parallel = parallel
    figures.add(end.since(begin), messages: doneCount, server: server)
    figures.set(latency: latency)
    figures.judge()
    close()
    return figures
  }

  mutating func open() throws {
    let limit = SystemClock.now().advanced(byMilliseconds: UpgradeRun.openSecondsMax * 1000)
    while doneCount < connections {
      if let problem { throw WorkFailure.notSubscribed(problem) }
      guard swarm.endings.isEmpty, SystemClock.now() < limit else {
        throw WorkFailure.notOpened(
          open: doneCount, wanted: connections, endings: swarm.endings)
      }
      while swarm.begun < connections, swarm.begun - doneCount < parallel, swarm.endings.isEmpty {
        let now = SystemClock.now()
        if let index = try swarm.begin() { peers[index].begun = now }
      }
      try turn()
    }
  }

  mutating func close() {
    var goodbye: [UInt8] = []
    FrameEncoder.appendMaskedClose(.normal, maskKey: 0, to: &goodbye)
    for index in 0..<connections where swarm.contains(index) {
      _ = try? goodbye.withRawSpan { (span) throws(Errno) in try swarm.sendFrames(index, span) }
      swarm.end(index, nil)
    }
  }

  private mutating func turn() throws(Errno) {
    try swarm.wait(nanoseconds: 100_000_000)
    for position in 0..<swarm.eventCount {
      let event = swarm.event(position)
      let index = Int(event.datum)
      guard swarm.contains(index) else { continue }
      if event.isWritable { _ = try swarm.writable(index) }
      guard event.isReadable || event.isHungUp, swarm.contains(index) else { continue }
      var texts = Texts()
      let arrival = try swarm.receive(index, &buffer) { texts.take($0, &peers[index].walker) }
      problem = problem ?? texts.problem
      if arrival == .opened, !greetings.isEmpty {
        try greetings[index].withRawSpan { (span) throws(Errno) in try swarm.sendFrames(index, span)
        }
      }
      if texts.isLive || arrival == .opened && greetings.isEmpty { done(index) }
    }
  }

  private mutating func done(_ index: Int) {
    guard !peers[index].isDone else { return }
    peers[index].isDone = true
    doneCount += 1
    latency.record(microseconds(since: peers[index].begun, SystemClock.now()))
  }

  /// Only two events of the chat matter here, and both are recognised by the start of the text.
  private struct Texts {
    var isLive = false
    var problem: String?

    mutating func take(_ bytes: RawSpan, _ walker: inout FrameWalker) {
      var offset = 0
      while offset < bytes.byteCount {
        do throws(FrameFault) {
          guard case .data(let range, _) = try walker.next(bytes, &offset) else { continue }
          let text = bytes.extracting(range)
          if begins(text, "{\"type\":\"live\"") { isLive = true }
          if begins(text, "{\"type\":\"error\"") { problem = String(text.string.prefix(200)) }
        } catch {
          problem = "broken frame: \(error.reason)"
          return
        }
      }
    }

    private func begins(_ text: RawSpan, _ word: StaticString) -> Bool {
      let count = word.utf8CodeUnitCount
      return text.byteCount >= count && text.extracting(0..<count).equals(word)
    }
  }
}

/// The silent widgets of one process: each authenticates as a visitor of its own, subscribes to a
/// session of its own, and then only answers heartbeats. A silent widget must receive no message.
///
/// Memory decides how many fit on a machine, so a widget is a value of a few bytes here. The
/// widgets that speak are clients of a `LoadLoop` in another process.
import Foundation
import Kernel
import Primitives
import Synchronization
import Wire

struct MillionCourse: Sendable, Codable {
  /// Widgets of this process after each step.
  var sizes: [Int]
  /// Widgets opened per second by this process.
  var rate: Double
  /// Used in turn, beginning with this process's own.
  var gateways: [Target]
  var process: Int
  /// A folder with the tokens of each step: see `MillionTokens`.
  var tokens: String
  var openSeconds: Int
  /// Connections and hellos under way at once.
  var openingMax: Int
}

final class MillionCrowd {
  private let course: MillionCourse
  private var swarm: Swarm
  private var credentials: [Credential] = []
  /// Credentials of this step that no connection has taken yet, and those of connections that are
  /// not ready.
  private var free: [Int] = []
  private var opening: [Int: Int] = [:]
  private var isReady: [Bool] = []
  private var readyCount = 0
  /// Bytes of an incomplete frame; rare.
  private var rests: [Int: [UInt8]] = [:]
  private var buffer = [UInt8](repeating: 0, count: Swarm.bufferByteCount)
  private var commands = CommandBuffer()
  private let pong: [UInt8]
  private var pongs = 0
  private var retries: [String: Int] = [:]
  private var lost: [String: Int] = [:]
  private var violations = Violations()
  private var problems: [String] = []
  private var step = 0

  /// Openings that a process repeats because the gateway asks for it.
  private static let retriesMax = 1_000
  private static let problemsMax = 5
  private static let turnNanoseconds: Int64 = 50_000_000
  private static let pacedNanoseconds: Int64 = 2_000_000

  init(_ course: MillionCourse) throws(Errno) {
    self.course = course
    let limit = (course.sizes.last ?? 1) + MillionCrowd.retriesMax
    swarm = try Swarm(course.gateways.map { SwarmEndpoint($0) }, limit: limit)
    var frame: [UInt8] = []
    var text: [UInt8] = []
    text.append("{\"type\":\"pong\"}")
    text.withRawSpan {
      FrameEncoder.appendMaskedFrame(.text, payload: $0, maskKey: 0x1CE4_E5B9, to: &frame)
    }
    pong = frame
  }

  /// The common steps of `LoadLoop.growth`: the start; and for each size: all are open; the
  /// speakers begin; they have ended.
  func run(_ shared: RunState) throws -> LoopResult {
    defer { shared.finished.add(1, ordering: .sequentiallyConsistent) }
    for (number, size) in course.sizes.enumerated() {
      if number == 0, try !meet(shared) { break }
      guard try open(size, step: number, shared), try meet(shared), try meet(shared),
        try meet(shared)
      else { break }
    }
    var result = LoopResult()
    result.counters.pongs = pongs
    result.counters.retries = retries
    result.counters.closes = lost
    result.violations = violations
    result.problems = problems
    for (label, count) in lost.sorted(by: { $0.key < $1.key }) {
      result.problems.append(
        "\(Format.count(count)) silent widgets lost their connection: \(label)")
    }
    swarm.resetAll()
    return result
  }

  /// False when the run was ended.
  private func meet(_ shared: RunState) throws(Errno) -> Bool {
    shared.arrive()
    defer { step += 1 }
    while shared.moment(of: step) == nil {
      if shared.stop.load(ordering: .relaxed) { return false }
      try turn(shared, nanoseconds: MillionCrowd.turnNanoseconds)
    }
    return true
  }

  // MARK: Opening

  /// Opens widgets at the rate of the course until `size` are ready.
  private func open(_ size: Int, step: Int, _ shared: RunState) throws -> Bool {
    let more = size - readyCount
    guard more > 0 else { return problems.isEmpty }
    credentials = try MillionTokens.take(
      from: course.tokens, step: step, process: course.process, count: more)
    free = Array((0..<more).reversed())
    let began = SystemClock.now()
    let limit = began.advanced(byMilliseconds: Int64(course.openSeconds) * 1000)
    while !free.isEmpty || !opening.isEmpty {
      if shared.stop.load(ordering: .relaxed) { return false }
      guard problems.isEmpty, lost.isEmpty else { return false }
      let now = SystemClock.now()
      guard now < limit else {
        problems.append(
          "\(free.count + opening.count) of \(more) widgets are not ready after "
            + "\(course.openSeconds) s")
        return false
      }
      let elapsed = Double(now.nanoseconds - began.nanoseconds) / 1e9
      let due = min(more, Int(elapsed * course.rate) + 1)
      while opening.count < course.openingMax, more - free.count < due,
        let credential = free.popLast()
      {
        try begin(credential)
      }
      try turn(shared, nanoseconds: MillionCrowd.pacedNanoseconds)
    }
    // The tokens are the largest part of this process.
    credentials = []
    return true
  }

  private func begin(_ credential: Int) throws(Errno) {
    let gateway = (course.process + swarm.begun) % course.gateways.count
    guard let index = try swarm.begin(endpoint: gateway) else {
      return again(credential, "no connection")
    }
    opening[index] = credential
    while isReady.count <= index { isReady.append(false) }
    isReady[index] = false
  }

  /// A widget tries again when the gateway has no room for it yet.
  private func again(_ credential: Int, _ why: String) {
    retries[why, default: 0] += 1
    free.append(credential)
    guard retries.values.reduce(0, +) <= MillionCrowd.retriesMax else {
      return note("openings are refused too often: \(list(retries))")
    }
  }

  private func note(_ problem: String) {
    if problems.count < MillionCrowd.problemsMax { problems.append(problem) }
  }

  // MARK: Events

  private func turn(_ shared: RunState, nanoseconds: Int64) throws(Errno) {
    try swarm.wait(nanoseconds: nanoseconds)
    for position in 0..<swarm.eventCount {
      let event = swarm.event(position)
      let index = Int(event.datum)
      guard swarm.contains(index) else { continue }
      if event.isWritable { _ = try swarm.writable(index) }
      if event.isReadable || event.isHungUp, swarm.contains(index) { try receive(index) }
      if !swarm.contains(index) { ended(index) }
    }
    shared.publish(
      RunState.Snapshot(
        phase: opening.isEmpty && free.isEmpty ? .closing : .connecting,
        clients: readyCount + free.count + opening.count, online: readyCount,
        violations: violations.counts, pongs: pongs), loop: 0)
  }

  private func receive(_ index: Int) throws(Errno) {
    var news = MillionNews()
    var rest = rests.isEmpty ? [] : rests.removeValue(forKey: index) ?? []
    let arrival = try swarm.receive(index, &buffer) { news.take($0, &rest) }
    if !rest.isEmpty { rests[index] = rest }
    if arrival == .ended { return }
    if arrival == .opened { try greet(index) }
    for _ in 0..<news.pings where swarm.contains(index) {
      pongs += 1
      try pong.withRawSpan { (span) throws(Errno) in try swarm.sendFrames(index, span) }
    }
    if let problem = news.problem { note(problem) }
    if news.messages > 0 {
      violations.note(
        .mismatched, count: news.messages, "a silent widget received \(news.messages) messages")
    }
    if let ending = news.ending { return swarm.end(index, ending) }
    if let code = news.refusal {
      swarm.end(index, nil)
      guard news.mayRetry, let credential = opening.removeValue(forKey: index) else {
        return note("a silent widget was refused: \(code)")
      }
      again(credential, code)
    } else if news.isLive, opening.removeValue(forKey: index) != nil {
      isReady[index] = true
      readyCount += 1
    }
  }

  /// Hello and subscribe in one write, as the protocol allows.
  private func greet(_ index: Int) throws(Errno) {
    guard let number = opening[index], let session = credentials[number].session else { return }
    commands.removeAll()
    commands.hello(ref: 1, token: credentials[number].token)
    commands.subscribe(ref: 2, session: session, after: 0, epoch: "")
    var frames: [UInt8] = []
    commands.bytes.withRawSpan { span in
      var start = 0
      for end in commands.ends {
        FrameEncoder.appendMaskedFrame(
          .text, payload: span.extracting(start..<end), maskKey: 0x1CE4_E5B9, to: &frames)
        start = end
      }
    }
    try frames.withRawSpan { (span) throws(Errno) in try swarm.sendFrames(index, span) }
  }

  private func ended(_ index: Int) {
    rests[index] = nil
    if let credential = opening.removeValue(forKey: index) {
      again(credential, swarm.lastEnding ?? "ended")
    } else if index < isReady.count, isReady[index] {
      isReady[index] = false
      readyCount -= 1
      lost[swarm.lastEnding ?? "ended", default: 0] += 1
    }
  }
}

/// The result of one read from a silent widget.
struct MillionNews {
  var pings = 0
  var isLive = false
  var messages = 0
  /// The code of an error, and whether the gateway asks for another try.
  var refusal: String?
  var mayRetry = false
  /// The code of a close frame.
  var ending: String?
  var problem: String?

  /// - Parameter rest: bytes of an incomplete message, before and after.
  mutating func take(_ bytes: RawSpan, _ rest: inout [UInt8]) {
    guard problem == nil else { return }
    if rest.isEmpty {
      let used = walk(bytes)
      rest.append(bytes.extracting(used..<bytes.byteCount))
    } else {
      rest.append(bytes)
      let used = rest.withRawSpan { walk($0) }
      rest.removeFirst(used)
    }
  }

  /// Returns the number of bytes of whole messages.
  private mutating func walk(_ bytes: RawSpan) -> Int {
    var walker = FrameWalker()
    var offset = 0
    var used = 0
    while offset < bytes.byteCount {
      do throws(FrameFault) {
        switch try walker.next(bytes, &offset) {
        case .needMoreBytes: return used
        case .data(let range, let isEnd):
          guard isEnd else {
            // The gateway sends its messages in one frame each.
            if offset < bytes.byteCount { problem = "a message in fragments" }
            return used
          }
          read(bytes.extracting(range))
          used = offset
        case .control(let opcode, let payload, let isEnd):
          guard isEnd else { return used }
          used = offset
          guard opcode == .close else { continue }
          ending =
            "closed " + (payload.count > 1 ? "\(bytes.uint16(at: payload.lowerBound))" : "1005")
          return bytes.byteCount
        }
      } catch {
        problem = "broken frame: \(error.reason)"
        return bytes.byteCount
      }
    }
    return used
  }

  private mutating func read(_ text: RawSpan) {
    var cursor = JSONCursor()
    while cursor.skipBlanks(text) {
      guard let event = try? ServerEvent(text, &cursor) else {
        problem = "not JSON: \(text.string.prefix(200))"
        return
      }
      switch event.kind {
      case .ping: pings += 1
      case .live: isLive = true
      case .message: messages += 1
      case .error:
        refusal = event.code
        mayRetry = event.retry
      case .resync, .drain, .unsubscribed: problem = "an unexpected \(event.kind)"
      default: break
      }
    }
  }
}

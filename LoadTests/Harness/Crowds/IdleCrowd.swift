/// Idle connections: each sends hello, optionally subscribes, and then only answers pings.
import Kernel
import Primitives
import Synchronization

struct IdleCourse: Sendable, Codable {
  /// Connections of this process that are not counted, and all of them.
  var warm: Int
  var connections: Int
  var offersDeflate: Bool
  var subscribes: Bool
  /// Connections opened per second; 0 for as many as possible.
  var rate: Int
}

final class IdleCrowd: PoolDelegate {
  private let course: IdleCourse
  private let target: Target
  /// Credentials, used in turn.
  private let credentials: [(token: String, session: Identifier?)]
  private let pool: Pool
  private var isReady: [Bool] = []
  private var readyCount = 0
  private var endings: [String: Int] = [:]
  private var problems: [String] = []
  private var step = 0

  private static let openSecondsMax: Int64 = 300
  private static let turnNanoseconds: Int64 = 20_000_000
  private static let pacedNanoseconds: Int64 = 1_000_000

  init(_ course: IdleCourse, plan: LoadPlan, group: ClientGroup) throws(Errno) {
    self.course = course
    target = plan.target
    credentials = group.members.map { member in
      (member.token, member.sessions.first.map { group.sessions[$0] })
    }
    pool = try Pool(target: plan.target, offersDeflate: course.offersDeflate)
  }

  /// Opens the uncounted connections, then the others, and keeps them idle until the end.
  func run(_ shared: RunState) throws(Errno) -> LoopResult {
    defer { shared.finished.add(1, ordering: .sequentiallyConsistent) }
    var result = LoopResult()
    if try open(course.warm, shared), try meet(shared),
      try open(course.connections, shared)
    {
      if try meet(shared) { _ = try meet(shared) }
      for (label, count) in endings.sorted(by: { $0.key < $1.key }) {
        problems.append("\(count) connections ended while idle: \(label)")
      }
    }
    result.counters.made = readyCount
    result.problems = problems
    return result
  }

  /// False when the run was ended.
  private func meet(_ shared: RunState) throws(Errno) -> Bool {
    shared.arrive()
    defer { step += 1 }
    while shared.moment(of: step) == nil {
      if shared.stop.load(ordering: .relaxed) { return false }
      try turn(shared, nanoseconds: IdleCrowd.turnNanoseconds)
    }
    return true
  }

  /// Waits until `count` connections are ready and idle.
  private func open(_ count: Int, _ shared: RunState) throws(Errno) -> Bool {
    let begin = SystemClock.now()
    let limit = begin.advanced(byMilliseconds: IdleCrowd.openSecondsMax * 1000)
    let first = pool.begunCount
    while readyCount < count {
      if shared.stop.load(ordering: .relaxed) { return false }
      guard endings.isEmpty, SystemClock.now() < limit else {
        problems.append("\(readyCount) of \(count) connections opened; ended: \(endings)")
        return false
      }
      let elapsed = Int(SystemClock.now().milliseconds(since: begin))
      let due = course.rate == 0 ? count : min(count, first + 1 + elapsed * course.rate / 1000)
      isReady += Array(repeating: false, count: max(0, count - isReady.count))
      try pool.begin(upTo: due, ready: readyCount)
      try turn(
        shared,
        nanoseconds: course.rate == 0 ? IdleCrowd.turnNanoseconds : IdleCrowd.pacedNanoseconds)
    }
    return true
  }

  private func turn(_ shared: RunState, nanoseconds: Int64) throws(Errno) {
    try pool.turn(nanoseconds: nanoseconds, self)
    shared.publish(
      RunState.Snapshot(phase: .connecting, clients: course.connections, online: readyCount),
      loop: 0)
  }

  // MARK: Events

  func opened(_ number: Int) {
    if target.isEcho {
      pool.commands.text("still there")
    } else {
      pool.commands.hello(ref: 1, token: credentials[number % credentials.count].token)
    }
  }

  func received(_ number: Int, _ text: RawSpan, _ now: Instant) {
    guard !target.isEcho else { return becomeIdle(number) }
    var cursor = JSONCursor()
    while cursor.skipBlanks(text) {
      guard let event = try? ServerEvent(text, &cursor) else {
        problems.append("not JSON: \(text.string.prefix(200))")
        return
      }
      switch event.kind {
      case .ping: pool.commands.pong()
      case .welcome: welcomed(number)
      case .live: becomeIdle(number)
      case .error: problems.append("\(event.code): \(event.message)")
      default: break
      }
    }
  }

  private func welcomed(_ number: Int) {
    guard course.subscribes else { return becomeIdle(number) }
    guard let session = credentials[number % credentials.count].session else { return }
    pool.commands.subscribe(ref: 2, session: session, after: 0, epoch: "")
  }

  private func becomeIdle(_ number: Int) {
    guard !isReady[number] else { return }
    isReady[number] = true
    readyCount += 1
  }

  func ended(_ number: Int, _ end: ConnectionEnd) {
    endings[end.label, default: 0] += 1
    if isReady[number] { readyCount -= 1 }
  }
}

/// The clients of `growth`: the same load at several numbers of clients.
import Kernel
import Primitives

struct GrowthCourse: Sendable, Codable {
  /// For each step, this loop's clients and its complete sessions.
  var sizes: [Size]
  var seconds: Int
  /// Whether the first size waits for a common step too.
  var awaitsStart = false

  struct Size: Sendable, Codable {
    var clients: Int
    var sessions: Int
    /// Messages a second, if the size has its own.
    var rate: Double?
  }
}

extension LoadLoop {
  func growth(_ course: GrowthCourse) throws(Errno) -> LoopResult {
    let begin = SystemClock.now()
    let busy = SystemClock.threadTimeNanoseconds()
    if course.awaitsStart, try meet() == nil { return try finish(from: begin, busy: busy) }
    for size in course.sizes {
      phase = .connecting
      start(size.clients)
      talkingSessions = size.sessions
      let limit = SystemClock.now().advanced(byMilliseconds: Int64(plan.settleSeconds) * 1000)
      guard try settle(until: limit) else { return try giveUp() }
      guard try grow(course, rate: size.rate) else { break }
    }
    return try finish(from: begin, busy: busy)
  }

  /// Three steps: all clients are connected; the load begins; everything is acknowledged and
  /// delivered.
  private func grow(_ course: GrowthCourse, rate: Double?) throws(Errno) -> Bool {
    guard try meet() != nil, let moment = try meet() else { return false }
    try go(until: moment)
    beginPhase()
    phase = .loading
    if talkingSessions > 0, plan.ratePerSecond > 0 {
      talk(from: moment, seconds: course.seconds, rate: rate)
    }
    try go(until: moment.advanced(byMilliseconds: Int64(course.seconds) * 1000))
    traffic = nil
    try drain()
    endPhase()
    return try meet() != nil
  }
}

/// The clients of `growth`: more and more of them, and at each size the same load.
import Kernel
import Primitives

struct GrowthCourse: Sendable, Codable {
  /// Clients of this loop at each step, and how many of its sessions are whole by then.
  var sizes: [Size]
  var seconds: Int

  struct Size: Sendable, Codable {
    var clients: Int
    var sessions: Int
  }
}

extension LoadLoop {
  func growth(_ course: GrowthCourse) throws(Errno) -> LoopResult {
    let begin = SystemClock.now()
    let busy = SystemClock.threadTimeNanoseconds()
    for size in course.sizes {
      phase = .connecting
      start(size.clients)
      talkingSessions = size.sessions
      let limit = SystemClock.now().advanced(byMilliseconds: Int64(plan.settleSeconds) * 1000)
      guard try settle(until: limit) else { return try giveUp() }
      guard try grow(course) else { break }
    }
    return try finish(from: begin, busy: busy)
  }

  /// Three steps: all have connected; the load begins; everything is acknowledged and shown.
  private func grow(_ course: GrowthCourse) throws(Errno) -> Bool {
    guard try meet() != nil, let moment = try meet() else { return false }
    try go(until: moment)
    beginPhase()
    phase = .loading
    if talkingSessions > 0, plan.ratePerSecond > 0 { talk(from: moment, seconds: course.seconds) }
    try go(until: moment.advanced(byMilliseconds: Int64(course.seconds) * 1000))
    traffic = nil
    try drain()
    endPhase()
    return try meet() != nil
  }
}

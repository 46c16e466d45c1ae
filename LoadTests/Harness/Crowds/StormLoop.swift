/// The clients of a storm: they send all the time, are disconnected at one moment, and reconnect as
/// the protocol requires.
import Kernel
import Primitives
import Synchronization

struct StormCourse: Sendable, Codable {
  var rounds: Int
  /// Whether the clients reset their sockets; otherwise the proxy or the gateway is cut off.
  var resets: Bool
  /// Time within which all clients must be back.
  var returnSeconds: Int
}

extension LoadLoop {
  func storm(_ course: StormCourse) throws(Errno) -> LoopResult {
    try play { () throws(Errno) in
      for _ in 0..<course.rounds {
        guard try round(course) else { break }
      }
    }
  }

  /// Connects all clients, and lets them send during `act`.
  func play(_ act: () throws(Errno) -> Void) throws(Errno) -> LoopResult {
    let limit = SystemClock.now().advanced(byMilliseconds: Int64(plan.settleSeconds) * 1000)
    try startAll()
    guard try settle(until: limit) else { return try giveUp() }
    let start = SystemClock.now()
    let busy = SystemClock.threadTimeNanoseconds()
    if try meet() != nil {
      phase = .loading
      talk(from: SystemClock.now())
      try act()
      traffic = nil
    }
    return try finish(from: start, busy: busy)
  }

  /// False when a client did not return, or the run was ended.
  private func round(_ course: StormCourse) throws(Errno) -> Bool {
    guard let moment = try meet() else { return false }
    try go(until: moment)
    let busy = SystemClock.threadTimeNanoseconds()
    recovery = Recovery(at: moment, clients: activeCount)
    if course.resets {
      for client in clients.indices { try cutOff(client) }
    }
    let limit = moment.advanced(byMilliseconds: Int64(course.returnSeconds) * 1000)
    while let recovery, recovery.missing > 0, SystemClock.now() < limit, !isStopped {
      try step(until: SystemClock.now().advanced(byMilliseconds: 5))
    }
    var found = LoopPhase()
    found.busyNanoseconds = SystemClock.threadTimeNanoseconds() - busy
    if let recovery {
      found.recovery = recovery.times
      if recovery.missing > 0, !isStopped {
        problems.append(
          "\(recovery.missing) of \(activeCount) clients were not live again after "
            + "\(course.returnSeconds) s")
      }
    }
    recovery = nil
    phases.append(found)
    guard problems.isEmpty else { return false }
    return try meet() != nil
  }

  /// Continues until `moment`.
  func go(until moment: Instant) throws(Errno) {
    while !isStopped, SystemClock.now() < moment { try step(until: moment) }
  }

  /// Some clients could not connect; the other loops must not wait.
  func giveUp() throws(Errno) -> LoopResult {
    shared.stop.store(true, ordering: .relaxed)
    let result = conclude(didSettle: false)
    try disconnect()
    return result
  }

  /// Drains and closes.
  func finish(from start: Instant, busy: Int64) throws(Errno) -> LoopResult {
    let end = SystemClock.now()
    let busyNanoseconds = SystemClock.threadTimeNanoseconds() - busy
    try drain()
    var result = conclude(didSettle: true)
    result.loadNanoseconds = end.nanoseconds - start.nanoseconds
    result.activeNanoseconds = result.loadNanoseconds
    result.busyNanoseconds = busyNanoseconds
    result.phases = phases
    result.problems = problems
    try disconnect()
    return result
  }
}

/// The clients of `slow`: phases in which all subscribers read alternate with phases in which a few
/// do not.
import Kernel
import Primitives

struct SlowCourse: Sendable, Codable {
  var turns: Int
  /// Seconds of each phase, after one second that is not counted.
  var seconds: Int
}

extension LoadLoop {
  static let unsettledMilliseconds: Int64 = 1_000

  func slow(_ course: SlowCourse) throws(Errno) -> LoopResult {
    try play { () throws(Errno) in
      for turn in 0..<2 * course.turns {
        guard try turnOfSlow(course, stops: turn % 2 == 1) else { break }
      }
      // The parent may wait longer for the gateway to close the slow readers.
      _ = try meet()
      traffic = nil
      try letAllRead()
    }
  }

  private func turnOfSlow(_ course: SlowCourse, stops: Bool) throws(Errno) -> Bool {
    guard let moment = try meet() else { return false }
    try go(until: moment)
    if stops {
      for client in clients.indices where behaviours[client] == .stopping {
        try setReading(client, false)
      }
    } else {
      try letAllRead()
    }
    let begin = moment.advanced(byMilliseconds: LoadLoop.unsettledMilliseconds)
    try go(until: begin)
    beginPhase()
    try go(until: begin.advanced(byMilliseconds: Int64(course.seconds) * 1000))
    endPhase()
    return !isStopped
  }

  private func letAllRead() throws(Errno) {
    for client in clients.indices where behaviours[client] == .stopping {
      try setReading(client, true)
    }
  }

  // MARK: Phases

  /// Starts the counters and latencies of a new phase.
  func beginPhase() {
    var begun = LoopPhase()
    begun.made = measured.counters.made
    begun.acked = measured.counters.acked
    begun.delivered = measured.counters.delivered
    begun.busyNanoseconds = SystemClock.threadTimeNanoseconds()
    measured.latencies.move(to: shared.intervals)
    begun.latencies = measured.latencies
    measured.latencies = Latencies()
    phases.append(begun)
  }

  func endPhase() {
    guard let begun = phases.popLast() else { return }
    var found = LoopPhase()
    found.made = measured.counters.made - begun.made
    found.acked = measured.counters.acked - begun.acked
    found.delivered = measured.counters.delivered - begun.delivered
    found.busyNanoseconds = SystemClock.threadTimeNanoseconds() - begun.busyNanoseconds
    found.latencies = measured.latencies
    measured.latencies.add(begun.latencies)
    phases.append(found)
  }
}

/// The phases that `echo` and `fanout` share: a warm-up, the measured time, the last replies.
import Primitives

enum WorkStage {
  case warmUp, measured, over
}

protocol CountedWork: ~Copyable {
  var course: WorkCourse { get }
  var stage: WorkStage { get set }
  /// Echoes or deliveries so far, and messages that all subscribers have.
  var counts: (messages: Int, published: Int) { get }
  /// See `Swarm`.
  var polledNanoseconds: Int64 { get }
  mutating func go(until limit: Instant) throws
  /// Waits for messages in flight.
  mutating func drain() throws
}

extension CountedWork where Self: ~Copyable {
  /// Adds the counts to the figures; messages have been in flight since `start`. Returns the number
  /// of messages that all subscribers have.
  mutating func count(from start: Instant, into figures: inout WorkFigures) throws -> Int {
    try go(until: start.advanced(byMilliseconds: course.warmUpMilliseconds))
    let begin = try ProcessorTime(server: course.pid, polled: polledNanoseconds)
    let before = counts
    stage = .measured
    try go(until: begin.at.advanced(byMilliseconds: course.milliseconds))
    let end = try ProcessorTime(server: course.pid, polled: polledNanoseconds)
    let after = counts
    stage = .over
    try drain()
    figures.add(
      end.since(begin), messages: after.messages - before.messages, server: course.pid)
    return after.published - before.published
  }
}

/// The lines of a trace: bounded, by position, for one reader.
import Primitives
import Testing

@testable import REST

@Suite struct ConnectionTraceTests {
  private let start = Instant(nanoseconds: 1_000_000_000_000)

  private func after(_ milliseconds: Int64) -> Instant {
    start.advanced(byMilliseconds: milliseconds)
  }

  private func trace() -> ConnectionTrace {
    ConnectionTrace(
      of: Identifier(high: 1, low: 1), in: nil, id: Identifier(high: 2, low: 2), now: start)
  }

  private func line(_ number: Int) -> TraceLine {
    var line = TraceLine(
      at: WallTime(microseconds: 0), connection: Identifier(high: 1, low: 1), kind: .received)
    line.bytes = number
    return line
  }

  @Test("lines come in order and by position, at most 200 at once, and are forgotten when read")
  func order() async {
    let trace = trace()
    for number in 1...450 { trace.add(line(number)) }
    let first = await trace.lines(after: 0, now: start)
    #expect(first.first == 1 && first.lines.map(\.bytes) == Array(1...200) && first.next == 200)
    // The answer was lost: the same position yields the same lines.
    let again = await trace.lines(after: 0, now: start)
    #expect(again.lines == first.lines)
    trace.end("a test", now: start)
    let second = await trace.lines(after: 200, now: start)
    #expect(second.lines.count == 200 && second.end == nil, "it has unread lines")
    let last = await trace.lines(after: 400, now: start)
    #expect(last.lines.map(\.bytes) == Array(401...450) && last.end == "a test")
    #expect(last.dropped == 0)
    // A position of the past or the future finds what there is.
    let past = await trace.lines(after: 3, now: start)
    #expect(past.first == 401)
    let future = await trace.lines(after: 9_999, now: start)
    #expect(future.lines.isEmpty && future.end == "a test")
  }

  @Test("a reader that is slow loses the oldest lines, which are counted")
  func dropped() async {
    let trace = trace()
    let max = ConnectionTrace.linesMax
    for number in 1...(max + 25) { trace.add(line(number)) }
    let part = await trace.lines(after: 0, now: start)
    #expect(part.dropped == 25 && part.first == 26 && part.lines.first?.bytes == 26)
    for number in 1...10 { trace.add(line(number)) }
    let next = await trace.lines(after: part.next, now: start)
    #expect(next.dropped == 35, "the 200 lines of the answer were still kept")
    #expect(next.first == 226)
  }

  @Test("a reader waits for a line, for at most a second; a second reader takes its place")
  func waiting() async {
    let trace = trace()
    async let waiting = trace.lines(after: 0, now: start)
    async let alone = Task.detached { trace.add(line(7)) }.value
    _ = await alone
    let part = await waiting
    #expect(part.lines.map(\.bytes) == [7])
    async let empty = trace.lines(after: 1, now: start)
    // Without the reader this changes nothing, so it is repeated.
    let pump = Task.detached {
      while !Task.isCancelled {
        trace.expire(now: after(ConnectionTrace.waitMilliseconds))
        await Task.yield()
      }
    }
    let nothing = await empty
    pump.cancel()
    #expect(nothing.lines.isEmpty && nothing.end == nil && nothing.next == 1)
  }

  @Test("it ends after 10 minutes, and when nobody reads it")
  func limits() async {
    let unread = trace()
    unread.expire(now: after(ConnectionTrace.unreadMillisecondsMax - 1))
    #expect(unread.endedAt == nil)
    unread.expire(now: after(ConnectionTrace.unreadMillisecondsMax))
    #expect(unread.endedAt != nil)
    let part = await unread.lines(after: 0, now: start)
    #expect(part.end == "nobody has read it for 30 seconds")
    let long = trace()
    long.add(line(1))
    _ = await long.lines(after: 0, now: after(ConnectionTrace.millisecondsMax - 2))
    long.expire(now: after(ConnectionTrace.millisecondsMax - 1))
    #expect(long.endedAt == nil)
    long.expire(now: after(ConnectionTrace.millisecondsMax))
    #expect(long.endedAt == after(ConnectionTrace.millisecondsMax))
    long.add(line(2))
    let last = await long.lines(after: 0, now: start)
    #expect(last.lines.count == 1 && last.end == "the time limit of 10 minutes")
  }

  @Test("few traces run at once, fewer of one workspace; only its own workspace finds a trace")
  func number() throws {
    let traces = ConnectionTraces()
    func begin(_ workspace: Identifier?, at now: Instant) throws(Problem) -> ConnectionTrace {
      try traces.start(
        of: Identifier(high: 1, low: 1), in: workspace,
        id: Identifier(high: 3, low: UInt64(now.nanoseconds)), now: now)
    }
    let (one, other) = (Identifier(high: 9, low: 1), Identifier(high: 9, low: 2))
    let first = try begin(one, at: after(1))
    _ = try begin(one, at: after(2))
    #expect(throws: Problem.self) { try begin(one, at: after(3)) }
    _ = try begin(other, at: after(4))
    let ofInstance = try begin(nil, at: after(5))
    #expect(throws: Problem.self) { try begin(nil, at: after(6)) }
    #expect(traces.find(first.id, of: one) === first)
    #expect(traces.find(first.id, of: other) == nil && traces.find(first.id, of: nil) == nil)
    first.end("a test", now: after(7))
    _ = try begin(one, at: after(8))
    #expect(traces.find(first.id, of: one) === first, "its last lines can be read")
    ofInstance.end("a test", now: after(9))
    for number in 0..<Int64(ConnectionTraces.keptMax) {
      try begin(nil, at: after(100 + number)).end("a test", now: after(100 + number))
    }
    #expect(traces.find(first.id, of: one) == nil, "the oldest ended ones go first")
  }
}

/// The stall metrics of a loop: the counted figures of a turn, their precision, and the number of
/// reads of the thread clock.
import Kernel
import Primitives
import Synchronization
import Testing

@testable import Gateway

private final class Flag: Sendable {
  private let isSet = Atomic(false)

  func set() { isSet.store(true, ordering: .releasing) }
  func wait() { while !isSet.load(ordering: .acquiring) {} }
}

private final class Order: Sendable {
  private let numbers = Mutex<[Int]>([])

  func add(_ number: Int) { numbers.withLock { $0.append(number) } }
  var all: [Int] { numbers.withLock { $0 } }
}

@Suite struct TurnMeterTests {
  private static let millisecond: Int64 = 1_000_000

  /// A thread with simulated clocks.
  private struct Loop {
    var meter = TurnMeter()
    var now = Instant(nanoseconds: 5_000_000_000)
    var processor: Int64 = 0
    var readings = 0

    mutating func turn(microseconds: Int64, working: Int64) {
      let began = now
      now.nanoseconds += microseconds * 1_000
      processor += working * 1_000
      let processor = processor
      var readings = 0
      meter.note(from: began, to: now) {
        readings += 1
        return processor
      }
      self.readings += readings
    }

    mutating func sleep(milliseconds: Int64) { now.nanoseconds += milliseconds * millisecond }
  }

  @Test("a long turn is counted with its duration, and the maximum is kept")
  func longTurn() {
    var loop = Loop()
    loop.turn(microseconds: 300, working: 300)
    loop.turn(microseconds: 40_000, working: 40_000)
    loop.turn(microseconds: 7_000, working: 7_000)
    for histogram in [loop.meter.elapsed, loop.meter.processor] {
      #expect(histogram.count == 3)
      #expect(histogram.counts[2] == 1)
      #expect(histogram.counts[6] == 1)
      #expect(histogram.counts[8] == 1)
    }
    #expect(loop.meter.elapsed.longest == 40 * TurnMeterTests.millisecond)
    #expect(loop.meter.elapsed.sum == 47_300_000)
    // The 0.3 ms before it were not sampled.
    #expect(loop.meter.processor.longest == 40 * TurnMeterTests.millisecond)
  }

  @Test("a preempted turn has only its own work as processor time")
  func preempted() {
    var loop = Loop()
    loop.turn(microseconds: 90_000, working: 4_000)
    #expect(loop.meter.elapsed.longest == 90 * TurnMeterTests.millisecond)
    #expect(loop.meter.processor.longest == 4 * TurnMeterTests.millisecond)
  }

  @Test("the turns since the last sample add less than a sample interval to the processor time")
  func exactness() {
    var loop = Loop()
    for _ in 0..<9 { loop.turn(microseconds: 200, working: 200) }
    loop.sleep(milliseconds: 400)
    loop.turn(microseconds: 60_000, working: 10_000)
    let error = loop.meter.processor.longest - 10 * TurnMeterTests.millisecond
    #expect(error >= 0)
    #expect(error < TurnMeter.sampleMilliseconds * TurnMeterTests.millisecond)
  }

  @Test("the thread clock is read once per two milliseconds of turns")
  func readings() {
    var loop = Loop()
    for _ in 0..<10_000 { loop.turn(microseconds: 50, working: 50) }
    #expect(loop.readings == 10_000 * 50 / 2_000)
    #expect(loop.meter.processor.longest <= TurnMeter.sampleMilliseconds * 1_000_000)
  }

  @Test("/metrics shows the turn durations of each loop and their maximum, in seconds")
  func metrics() {
    var loop = Loop()
    loop.turn(microseconds: 300, working: 300)
    loop.turn(microseconds: 40_500, working: 30_000)
    var figures = LoopMetrics()
    figures.turns = loop.meter
    let text = PrometheusText.text(MetricsSnapshot(loops: [LoopMetrics(), figures]))
    for line in [
      #"chirrup_loop_stall_seconds_bucket{loop="0",le="+Inf"} 0"#,
      #"chirrup_loop_stall_seconds_bucket{loop="1",le="0.001"} 1"#,
      #"chirrup_loop_stall_seconds_bucket{loop="1",le="0.02"} 1"#,
      #"chirrup_loop_stall_seconds_bucket{loop="1",le="0.05"} 2"#,
      #"chirrup_loop_stall_seconds_bucket{loop="1",le="+Inf"} 2"#,
      #"chirrup_loop_stall_seconds_sum{loop="1"} 0.040800000"#,
      #"chirrup_loop_stall_seconds_count{loop="1"} 2"#,
      #"chirrup_loop_stall_longest_seconds{loop="1"} 0.040500000"#,
      #"chirrup_loop_stall_processor_longest_seconds{loop="1"} 0.030300000"#,
    ] { #expect(text.contains(line + "\n"), "\(line)") }
  }

  @Test("a stalled loop counts the stall in both clocks (issue: one tenant stops all)")
  func held() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    await Task(executorPreference: gateway.context.executors[0]) {
      let begin = SystemClock.threadTimeNanoseconds()
      while SystemClock.threadTimeNanoseconds() - begin < 30_000_000 {}
    }.value
    // The loop publishes its metrics at the next sweep.
    while gateway.context.metrics.read()[0].turns.elapsed.longest < 30_000_000 {
      try await Task.sleep(for: .milliseconds(5))
    }
    let turns = gateway.context.metrics.read()[0].turns
    #expect(turns.processor.longest >= 30_000_000)
    #expect(turns.processor.longest <= turns.elapsed.longest)
    #expect(turns.elapsed.count == turns.processor.count)
  }

  @Test("200 steps of a millisecond each are spread over turns, in order")
  func turnLimits() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let context = gateway.context
    let before = context.metrics.read()[0].turns.processor.count
    let order = Order()
    // The loop is blocked until all steps are queued.
    let isOpen = Flag()
    let first = Task(executorPreference: context.executors[0]) { isOpen.wait() }
    let steps = (0..<200).map { number in
      Task(executorPreference: context.executors[0]) {
        let begin = SystemClock.threadTimeNanoseconds()
        while SystemClock.threadTimeNanoseconds() - begin < 1_000_000 {}
        order.add(number)
      }
    }
    isOpen.set()
    await first.value
    for step in steps { await step.value }
    #expect(order.all == Array(0..<200))
    // The loop publishes its metrics at the next sweep.
    while context.metrics.read()[0].turns.processor.count < before + 40 {
      try await Task.sleep(for: .milliseconds(5))
    }
    let turns = context.metrics.read()[0].turns.processor
    // The turn of the first step may be the longest: it waited for this thread.
    let long = (8..<turns.counts.count).reduce(0) { $0 + turns.counts[$1] }
    #expect(long <= 1, "turns above 20 ms")
  }
}

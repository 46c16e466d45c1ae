/// The departure times of messages in flight, in a ring buffer per connection. Messages that left
/// together have one time and are recorded together. Times are microseconds in 32 bits, so a round
/// trip must take less than an hour.
import Histogram
import Primitives

struct Departures {
  private let each: Int
  private var times: [UInt32]
  private var heads: [UInt32]
  private var tails: [UInt32]

  /// `each` is the most messages in flight per connection.
  init(connections: Int, each: Int) {
    self.each = each
    times = Array(repeating: 0, count: connections * each)
    heads = Array(repeating: 0, count: connections)
    tails = heads
  }

  mutating func depart(_ index: Int, _ count: Int, _ now: Instant) {
    let time = UInt32(truncatingIfNeeded: now.nanoseconds / 1000)
    let base = index &* each
    var tail = Int(tails[index])
    for _ in 0..<count {
      times[base &+ tail] = time
      tail &+= 1
      if tail == each { tail = 0 }
    }
    tails[index] = UInt32(tail)
  }

  /// The oldest `count` messages have returned.
  mutating func arrive(
    _ index: Int, _ count: Int, _ now: Instant, _ latency: inout Histogram<UInt64>, records: Bool
  ) {
    let time = UInt32(truncatingIfNeeded: now.nanoseconds / 1000)
    let base = index &* each
    var head = Int(heads[index])
    var left = count
    while left > 0 {
      let departed = times[base &+ head]
      var together = 0
      repeat {
        together &+= 1
        head &+= 1
        if head == each { head = 0 }
      } while together < left && times[base &+ head] == departed
      left &-= together
      if records { latency.record(UInt64(time &- departed), count: UInt64(together)) }
    }
    heads[index] = UInt32(head)
  }
}

/// Microseconds to ten minutes, three significant digits.
func latencyHistogram() -> Histogram<UInt64> {
  Histogram(
    lowestDiscernibleValue: 1, highestTrackableValue: latencyMicrosecondsMax,
    numberOfSignificantValueDigits: .three)
}

/// The due time of message `number` at this rate per second.
func due(_ number: Int, from start: Instant, _ rate: Double) -> Instant {
  Instant(nanoseconds: start.nanoseconds + Int64(Double(number) * 1e9 / rate))
}

func microseconds(since due: Instant, _ now: Instant) -> UInt64 {
  min(UInt64(max(0, now.nanoseconds - due.nanoseconds) / 1000), latencyMicrosecondsMax)
}

private let latencyMicrosecondsMax: UInt64 = 600_000_000

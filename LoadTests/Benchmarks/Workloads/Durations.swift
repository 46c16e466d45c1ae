import Primitives

/// What the histograms of `/metrics` cost a message. The clock is read once for each turn of the
/// loop, not for a histogram.
extension Work {
  static let durations = [
    Work("message-durations", "all durations of a message that is alone in its batch") {
      MessageDurations()
    }
  ]
}

/// As in `Engine.submitBatch`, `StoreDriver` and `EventLoop`.
struct MessageDurations: Workload, ~Copyable {
  private var queue = DurationHistogram()
  private var batch = DurationHistogram()
  private var commit = DurationHistogram()
  private var delivery = DurationHistogram()
  private var undelivered = OpenDurations()

  mutating func run(_ count: Int) {
    for turn in 0..<count {
      // 0.13 to 16 ms: a commit on a usual disk.
      let time = Int64(131_072) << Int64(turn & 7)
      let now = Instant(nanoseconds: Int64(turn) &* 20_000_000)
      queue.add(time)
      batch.add(time)
      commit.add(time, times: 1)
      undelivered.begin(1, at: now)
      undelivered.end(at: now.advanced(byMilliseconds: 1), in: &delivery)
    }
  }
}

import Primitives

/// The duration of each turn, from the return of epoll_wait to its next call. Meanwhile the loop
/// serves no other client.
///
/// Two histograms, because the machine may be shared: elapsed time is what a client waits; the
/// thread's processor time is the gateway's own work, without that of other processes.
///
/// Reading the processor time is a system call, so it is read once per `sampleMilliseconds` of
/// turns. Turns between two samples take less than that together. A turn's processor time is
/// therefore too high by less than `sampleMilliseconds`, never too low, and never above its elapsed
/// time.
struct TurnMeter {
  static let sampleMilliseconds: Int64 = 2

  private(set) var elapsed = DurationHistogram()
  private(set) var processor = DurationHistogram()
  /// The last sample of the processor time, and the elapsed time of the turns since then, in
  /// nanoseconds.
  private var sampled: Int64
  private var unsampled: Int64 = 0

  /// - Parameter processorTime: the present one of the loop's thread, in nanoseconds.
  init(processorTime: Int64 = 0) { sampled = processorTime }

  /// - Parameter processorTime: reads that of the loop's thread; called once or not at all.
  mutating func note(
    from began: Instant, to ended: Instant, processorTime: () -> Int64
  ) {
    let time = max(0, ended.nanoseconds - began.nanoseconds)
    elapsed.add(time)
    unsampled += time
    guard unsampled >= TurnMeter.sampleMilliseconds * 1_000_000 else {
      processor.add(time)
      return
    }
    let now = processorTime()
    processor.add(min(time, max(0, now - sampled)))
    sampled = now
    unsampled = 0
  }
}

/// The latencies of the current second, from all loops: they hand over what they have recorded,
/// and once a second somebody takes all of it.
import Histogram
import Synchronization

final class Intervals: Sendable {
  /// Two digits: these are drawn, and handed over ten times a second. Up to ten minutes.
  static var empty: Histogram<UInt64> {
    Histogram(
      lowestDiscernibleValue: 1, highestTrackableValue: 600_000_000,
      numberOfSignificantValueDigits: .two)
  }

  private let histograms = Mutex<[String: Histogram<UInt64>]>([:])

  /// Empties `histogram`, of microseconds.
  func hand(_ name: String, _ histogram: inout Histogram<UInt64>) {
    guard histogram.totalCount > 0 else { return }
    histograms.withLock { $0[name, default: Intervals.empty].add(histogram) }
    histogram.reset()
  }

  func take() -> [String: Histogram<UInt64>] {
    histograms.withLock { all in
      defer { all = [:] }
      return all
    }
  }
}

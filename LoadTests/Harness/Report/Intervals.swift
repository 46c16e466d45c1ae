/// The latencies of the current second: all loops add their values, and the recorder takes them
/// once a second.
import Histogram
import Synchronization

final class Intervals: Sendable {
  /// Two significant digits are enough for drawing, and histograms are passed ten times a second.
  /// Up to ten minutes.
  static var empty: Histogram<UInt64> {
    Histogram(
      lowestDiscernibleValue: 1, highestTrackableValue: 600_000_000,
      numberOfSignificantValueDigits: .two)
  }

  private let histograms = Mutex<[String: Histogram<UInt64>]>([:])

  /// Adds and empties `histogram`, in microseconds.
  func move(_ name: String, _ histogram: inout Histogram<UInt64>) {
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

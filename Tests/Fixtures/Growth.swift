import Kernel

/// How many times more processor time `work` takes of its thread for four times the length: 4 if
/// the time is proportional, 16 if it grows with the square. The least of several measurements, so
/// that other programs of the machine do not count.
public func growth(length: Int, _ work: (_ length: Int) -> Void) -> Double {
  func least(_ length: Int) -> Double {
    (0..<3).map { _ in
      let begin = SystemClock.threadTimeNanoseconds()
      work(length)
      return Double(SystemClock.threadTimeNanoseconds() - begin)
    }.min() ?? 0
  }
  // Less than a tenth of a millisecond cannot be told from the time of the first pages of memory.
  return least(length) / max(least(length / 4), 100_000)
}

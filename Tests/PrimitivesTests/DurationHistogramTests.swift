import Primitives
import Testing

@Suite struct DurationHistogramTests {
  @Test("a duration counts at the first limit that it does not exceed, or above all of them")
  func limits() {
    var histogram = DurationHistogram()
    for index in DurationHistogram.limits.indices {
      let limit = DurationHistogram.limits[index]
      histogram.add(limit)
      #expect(histogram.counts[index] == (index == 0 ? 1 : 2))
      histogram.add(limit + 1)
      #expect(histogram.counts[index + 1] == 1)
    }
    #expect(histogram.counts[DurationHistogram.limits.count] == 1)
    #expect(histogram.count == 32)
    #expect(histogram.longest == 10_000_000_001)
  }

  @Test("several things of the same duration are counted at once")
  func times() {
    var histogram = DurationHistogram()
    histogram.add(3_000_000, times: 40)
    histogram.add(1)
    #expect(histogram.counts[0] == 1 && histogram.counts[5] == 40)
    #expect(histogram.count == 41 && histogram.sum == 120_000_001)
  }

  @Test("a negative duration counts as zero")
  func negative() {
    var histogram = DurationHistogram()
    histogram.add(-5)
    #expect(histogram.counts[0] == 1 && histogram.sum == 0)
  }

  @Test("the durations of two loops are added")
  func merge() {
    var one = DurationHistogram()
    one.add(1_000)
    var other = DurationHistogram()
    other.add(20_000_000_000, times: 2)
    one.merge(other)
    #expect(one.count == 3 && one.counts[16] == 2 && one.longest == 20_000_000_000)
    #expect(one.sum == 40_000_001_000)
  }

  @Test("things that end together have waited since the first of them began")
  func open() {
    var histogram = DurationHistogram()
    var open = OpenDurations()
    open.end(at: Instant(nanoseconds: 5), in: &histogram)
    #expect(histogram.count == 0)
    open.begin(2, at: Instant(nanoseconds: 1_000_000))
    open.begin(3, at: Instant(nanoseconds: 4_000_000))
    open.end(at: Instant(nanoseconds: 5_000_000), in: &histogram)
    open.end(at: Instant(nanoseconds: 9_000_000), in: &histogram)
    #expect(histogram.count == 5 && histogram.longest == 4_000_000)
  }
}

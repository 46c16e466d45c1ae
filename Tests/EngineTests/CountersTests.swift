import Testing

@testable import Engine

@Suite struct CountersTests {
  @Test func `batches are counted by powers of two, larger ones in the last bucket`() {
    var counters = Counters()
    for size in [1, 2, 3, 4, 511, 512, 5_000] { counters.countBatch(size) }
    #expect(counters.batches == 7)
    #expect(counters.batchMessages == 6_033)
    #expect(counters.batchSizes == [1, 2, 1, 0, 0, 0, 0, 0, 1, 1, 1])
  }
}

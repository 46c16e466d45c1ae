/// A rate limiter by key in a table of bounded size.
import Primitives
import Testing

@Suite struct RateTableTests {
  func at(_ seconds: Int64) -> Int64 { 1_795_000_000_000 + seconds * 1_000 }

  @Test("a burst passes, then one event each time the rate allows")
  func burst() {
    var table = RateTable<String>(burst: 3, perMinute: 6)
    #expect((0..<3).map { _ in table.take("a", atMilliseconds: at(0)) } == [0, 0, 0])
    #expect(table.take("a", atMilliseconds: at(0)) == 10)
    #expect(table.take("b", atMilliseconds: at(0)) == 0)
    #expect(table.take("a", atMilliseconds: at(4)) == 6)
    #expect(table.take("a", atMilliseconds: at(10)) == 0)
    #expect(table.take("a", atMilliseconds: at(10)) == 10)
    #expect(table.take("a", atMilliseconds: at(100_000)) == 0)
  }

  @Test("the level says what remains, when it is full again, and how long a refused one waits")
  func level() {
    var table = RateTable<String>(burst: 2, perMinute: 6)
    func level(_ seconds: Int64) -> [Int] {
      guard let level = table.takeLevel("a", atMilliseconds: at(seconds)) else { return [] }
      return [level.waitSeconds, level.remaining, level.secondsUntilFull]
    }
    #expect(level(0) == [0, 1, 10])
    #expect(level(0) == [0, 0, 20])
    #expect(level(4) == [6, 0, 16])
    #expect(level(100) == [0, 1, 10])
    var unlimited = RateTable<String>(burst: 0, perMinute: 0)
    #expect(unlimited.takeLevel("a", atMilliseconds: 0) == nil)
  }

  @Test("a changed rate applies to what was used before, in both directions")
  func changed() {
    var table = RateTable<String>(burst: 4, perMinute: 6)
    for _ in 0..<3 { _ = table.take("a", atMilliseconds: at(0)) }
    table.change(burst: 5, perMinute: 6)
    #expect((0..<3).map { _ in table.take("a", atMilliseconds: at(0)) } == [0, 0, 10])
    table.change(burst: 2, perMinute: 60)
    #expect(table.take("a", atMilliseconds: at(0)) == 1)
    #expect((0..<3).map { _ in table.take("b", atMilliseconds: at(0)) } == [0, 0, 1])
    table.change(burst: 0, perMinute: 0)
    #expect(table.take("a", atMilliseconds: at(0)) == 0 && table.keyCount == 0)
    table.change(burst: 1, perMinute: 6)
    #expect((0..<2).map { _ in table.take("a", atMilliseconds: at(0)) } == [0, 10])
  }

  @Test("a clock may be set back, far back or far ahead")
  func clock() {
    var table = RateTable<String>(burst: 1, perMinute: 60)
    #expect(table.take("a", atMilliseconds: at(100)) == 0)
    #expect(table.take("a", atMilliseconds: at(50)) == 1)
    #expect(table.take("a", atMilliseconds: .min) == 1)
    #expect(table.take("a", atMilliseconds: .max) == 0)
  }

  @Test("the table is bounded: idle keys go first, and under a flood any key may go")
  func memory() {
    var table = RateTable<String>(burst: 1, perMinute: 60, keysMax: 100)
    for key in 0..<99 { _ = table.take("idle \(key)", atMilliseconds: at(0)) }
    _ = table.take("busy", atMilliseconds: at(9))
    _ = table.take("new", atMilliseconds: at(9))
    #expect(table.keyCount == 2)
    #expect(table.take("busy", atMilliseconds: at(9)) == 1)
    for key in 0..<1_000 { _ = table.take("flood \(key)", atMilliseconds: at(9)) }
    #expect(table.keyCount == 100)
  }

  @Test("a rate of 0 is no limit, and costs no memory")
  func none() {
    var table = RateTable<String>(burst: 0, perMinute: 0)
    for _ in 0..<1_000 { #expect(table.take("a", atMilliseconds: at(0)) == 0) }
    #expect(table.keyCount == 0)
  }

  @Test("an event that is given back does not count, and no bucket exceeds its burst")
  func givenBack() {
    var table = RateTable<String>(burst: 2, perMinute: 6)
    #expect(table.take("a", atMilliseconds: 0) == 0)
    #expect(table.take("a", atMilliseconds: 0) == 0)
    table.giveBack("a")
    #expect(table.take("a", atMilliseconds: 0) == 0)
    #expect(table.take("a", atMilliseconds: 0) == 10)
    for _ in 1...5 { table.giveBack("a") }
    table.giveBack("unknown")
    #expect(table.keyCount == 1)
    #expect(table.take("a", atMilliseconds: 0) == 0)
    #expect(table.take("a", atMilliseconds: 0) == 0)
    #expect(table.take("a", atMilliseconds: 0) == 10)
  }
}

import Primitives
import Testing

@Suite struct WallTimeTests {
  @Test(
    "times are written in UTC with milliseconds (RFC 3339 §5.6)",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1_795_269_787_042_999, "2026-11-21T14:03:07.042Z"),
      (951_782_399_999_999, "2000-02-28T23:59:59.999Z"),
      (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
      (1_709_164_800_000_000, "2024-02-29T00:00:00.000Z"),
      (4_107_542_400_000_000, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (-62_167_219_200_000_000, "0000-01-01T00:00:00.000Z"),
      (253_402_300_799_999_999, "9999-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func text(_ microseconds: Int64, _ text: String) {
    #expect(WallTime(microseconds: microseconds).description == text)
  }

  @Test("every day of four centuries follows the one before it")
  func calendar() {
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var day: Int64 = -62_167_219_200 / 86_400 + 146_097 * 5  // 2000-01-01
    for year in 2000..<2400 {
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      for month in 1...12 {
        let length = lengths[month - 1] + (month == 2 && isLeap ? 1 : 0)
        for date in [1, length] {
          let time = WallTime(microseconds: (day + Int64(date - 1)) * 86_400_000_000)
          let expected = "\(year)-\(month < 10 ? "0" : "")\(month)-\(date < 10 ? "0" : "")\(date)"
          #expect(time.description.prefix(10) == expected)
          #expect(daysSince1970(expected) == day + Int64(date - 1))
        }
        day += Int64(length)
      }
    }
  }
}

@Suite struct DateTextTests {
  @Test(
    "a text that is no date of the calendar is none",
    arguments: [
      "", "2026", "2026-11", "2026-11-27T", "2026-13-01", "2026-00-10", "2026-04-31", "2100-02-29",
      "26-11-27", "2026-1-27", "2026-11-2x", "-026-11-27", "２026-11-27",
    ])
  func none(text: String) { #expect(daysSince1970(text) == nil) }
}

@Suite struct InstantTests {
  @Test("a deadline saturates instead of wrapping round into the past")
  func saturates() {
    let now = Instant(nanoseconds: 5)
    #expect(now.advanced(byMilliseconds: 2) == Instant(nanoseconds: 2_000_005))
    #expect(now.advanced(byMilliseconds: .max) == .never)
    #expect(Instant(nanoseconds: .max - 1).advanced(byMilliseconds: 1) == .never)
    #expect(Instant.never.advanced(byMilliseconds: 1) == .never)
    #expect(now.advanced(byMilliseconds: -1) == Instant(nanoseconds: -999_995))
  }

  @Test("the time since an instant counts whole milliseconds, and never traps")
  func since() {
    let start = Instant(nanoseconds: 1_000_000)
    #expect(Instant(nanoseconds: 3_999_999).milliseconds(since: start) == 2)
    #expect(Instant.zero.milliseconds(since: start) == -1)
    #expect(Instant.never.milliseconds(since: Instant(nanoseconds: .min)) == .max)
    #expect(Instant.zero < start && start < .never)
  }
}

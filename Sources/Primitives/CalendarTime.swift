/// Calendar dates from microseconds, without Foundation: RFC 3339 in UTC with milliseconds, the
/// form of every time on the wire.
extension WallTime {
  /// Appends for example `2026-11-21T14:03:07.042Z` (RFC 3339 §5.6).
  public func appendText(to bytes: inout [UInt8]) {
    // SAFETY: three words without padding, only inside the closure.
    unsafe withUnsafeBytes(of: textWords) { unsafe bytes.append(contentsOf: $0) }
  }

  /// The text in memory order, 24 bytes.
  @usableFromInline
  var textWords: (UInt64, UInt64, UInt64) {
    let dayMicroseconds: Int64 = 86_400_000_000
    var days = microseconds / dayMicroseconds
    var rest = microseconds % dayMicroseconds
    if rest < 0 {
      rest += dayMicroseconds
      days -= 1
    }
    let date = civilDate(daysSince1970: days)
    let seconds = rest / 1_000_000
    // Composed in words, because every event has a time: 2026-11- 21T14:03 :07.042Z
    let year = twoDigits(date.year / 100 % 100) << 48 | twoDigits(date.year % 100) << 32
    let first = year | 0x2D << 24 | twoDigits(date.month) << 8 | 0x2D
    let second =
      twoDigits(date.day) << 48 | 0x54 << 40 | twoDigits(seconds / 3600) << 24 | 0x3A << 16
      | twoDigits(seconds / 60 % 60)
    let milliseconds = rest / 1000 % 1000
    let third =
      0x3A << 56 | twoDigits(seconds % 60) << 40 | 0x2E << 32 | twoDigits(milliseconds / 10) << 16
      | UInt64(0x30 + milliseconds % 10) << 8 | 0x5A
    return (first.bigEndian, second.bigEndian, third.bigEndian)
  }
}

/// 0 to 99 as two ASCII digits, the first in the higher byte.
private func twoDigits(_ value: Int64) -> UInt64 {
  UInt64(truncatingIfNeeded: (value / 10) << 8 | value % 10) &+ 0x3030
}

extension WallTime {
  /// Appends for example `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
  public func appendHTTPDate(to bytes: inout [UInt8]) {
    let seconds = max(0, microseconds / 1_000_000)
    let days = seconds / 86_400
    let date = civilDate(daysSince1970: days)
    // 1 January 1970 was a Thursday.
    appendPart(Int(days % 7), of: "ThuFriSatSunMonTueWed", to: &bytes)
    bytes.append(", ")
    appendPadded(date.day, digits: 2, to: &bytes)
    bytes.append(" ")
    appendPart(Int(date.month - 1), of: "JanFebMarAprMayJunJulAugSepOctNovDec", to: &bytes)
    bytes.append(" ")
    appendPadded(date.year, digits: 4, to: &bytes)
    bytes.append(" ")
    appendPadded(seconds / 3600 % 24, digits: 2, to: &bytes)
    bytes.append(":")
    appendPadded(seconds / 60 % 60, digits: 2, to: &bytes)
    bytes.append(":")
    appendPadded(seconds % 60, digits: 2, to: &bytes)
    bytes.append(" GMT")
  }

  private func appendPart(_ index: Int, of names: StaticString, to bytes: inout [UInt8]) {
    let text = names.description.utf8
    bytes.append(contentsOf: text.dropFirst(index * 3).prefix(3))
  }
}

extension WallTime: CustomStringConvertible {
  public var description: String {
    var bytes: [UInt8] = []
    appendText(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

private func appendPadded(_ value: Int64, digits: Int, to bytes: inout [UInt8]) {
  var divisor: Int64 = 1
  for _ in 1..<digits { divisor *= 10 }
  while divisor > 0 {
    bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
    divisor /= 10
  }
}

/// The proleptic Gregorian date of a day number: eras of 400 years, years that begin in March, so
/// that the leap day is the last of its year.
private func civilDate(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
  let shifted = days + 719_468  // days since 0000-03-01
  let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
  let dayOfEra = shifted - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let marchMonth = (5 * dayOfYear + 2) / 153
  let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  return (
    yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1
  )
}

/// The days from 1 January 1970 to a date of the form 2026-11-27 in the Gregorian calendar. Nil:
/// it is none.
public func daysSince1970(_ date: String) -> Int64? {
  let parts = date.split(separator: "-", omittingEmptySubsequences: false)
  guard parts.count == 3, parts.map(\.utf8.count) == [4, 2, 2],
    let year = Int64(parts[0]), let month = Int64(parts[1]), let day = Int64(parts[2])
  else { return nil }
  // Years begin in March, so that the leap day is the last of one.
  let shifted = (month + 9) % 12
  let from = month <= 2 ? year - 1 : year
  let days =
    365 * from + from / 4 - from / 100 + from / 400 + (153 * shifted + 2) / 5 + day - 1 - 719_468
  // A date that does not exist, such as 2026-02-30, is another one here.
  let civil = civilDate(daysSince1970: days)
  return civil == (year, month, day) ? days : nil
}

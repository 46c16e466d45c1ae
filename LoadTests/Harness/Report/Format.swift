/// Numbers for people: three significant digits, a unit, and grouped thousands.
import Foundation

enum Format {
  /// 12,000,000
  static func count(_ value: Int) -> String {
    var digits = Array(String(value.magnitude))
    var position = digits.count - 3
    while position > 0 {
      digits.insert(",", at: position)
      position -= 3
    }
    return (value < 0 ? "−" : "") + String(digits)
  }

  /// Three significant digits: 0.042, 7.3, 118, 12,345.
  static func number(_ value: Double) -> String {
    let size = abs(value)
    if size >= 100 || value == value.rounded() { return count(clamped(value)) }
    let places = size >= 10 ? 1 : size >= 1 ? 2 : 3
    var text = String(format: "%.\(places)f", value).replacing("-", with: "−")
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return text == "−0" || text.isEmpty ? "0" : text
  }

  /// For an axis: 0, 500, 20 k, 1.5 M.
  static func short(_ value: Double) -> String {
    for (scale, letter) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] where abs(value) >= scale {
      return number(value / scale) + " " + letter
    }
    return number(value)
  }

  /// 250 µs, 3.1 ms, 21 s, 3:20 min
  static func milliseconds(_ value: Double) -> String {
    if value == 0 { return "0 ms" }
    if abs(value) < 1 { return number(value * 1000) + " µs" }
    if abs(value) < 1000 { return number(value) + " ms" }
    return seconds(value / 1000)
  }

  static func seconds(_ value: Double) -> String {
    abs(value) < 120 ? number(value) + " s" : clock(value) + " min"
  }

  /// 0:00, 10:00, 1:00:00
  static func clock(_ value: Double) -> String {
    let all = clamped(value)
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60)
    return hours > 0
      ? String(format: "%d:%02d:%02d", hours, minutes, seconds)
      : String(format: "%d:%02d", minutes, seconds)
  }

  /// Binary units, as in `top`: 212 MiB.
  static func bytes(_ value: Double) -> String {
    for (scale, name) in [(1_073_741_824.0, "GiB"), (1_048_576, "MiB"), (1024, "KiB")]
    where abs(value) >= scale {
      return number(value / scale) + " " + name
    }
    return number(value) + " B"
  }

  static func percent(_ value: Double) -> String { number(value * 100) + " %" }

  static func figure(_ name: String, _ value: Double) -> String {
    switch Figure.named(name)?.unit ?? .count {
    case .count: number(value)
    case .milliseconds: milliseconds(value)
    case .microseconds: number(value) + " µs"
    case .seconds: seconds(value)
    case .bytes: bytes(value)
    case .perSecond: number(value) + " /s"
    case .cores: number(value)
    case .ratio: number(value) + " ×"
    }
  }

  static func date(_ value: Date) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_GB")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "d MMM yyyy, HH:mm 'UTC'"
    return formatter.string(from: value)
  }

  private static func clamped(_ value: Double) -> Int {
    Int(max(-1e15, min(1e15, value)).rounded())
  }
}

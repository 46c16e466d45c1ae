import JSON
import Primitives

/// The parameters of a URL's query, `application/x-www-form-urlencoded` (WHATWG URL §5.1). Strict:
/// a malformed escape or text that is not UTF-8 is an error.
struct QueryString {
  static let bytesMax = 4_096
  static let parametersMax = 32

  private var values: [String: String] = [:]

  /// Parameters that do not come from a URL.
  init(values: [String: String]) { self.values = values }

  init(_ text: String) throws(Problem) {
    guard text.utf8.count <= QueryString.bytesMax else {
      throw .invalid("The query of the URL exceeds \(QueryString.bytesMax) bytes. Shorten it.")
    }
    let parts = text.utf8.split(separator: UInt8(ascii: "&"))
    guard parts.count <= QueryString.parametersMax else {
      throw .invalid(
        "The query of the URL exceeds \(QueryString.parametersMax) parameters. Send fewer.")
    }
    for part in parts {
      let halves = part.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = QueryString.decode(halves[0]),
        let value = halves.count == 2 ? QueryString.decode(halves[1]) : ""
      else {
        throw .invalid(
          "The query of the URL is not percent-encoded UTF-8, or contains U+0000. Encode it again.")
      }
      values[name] = value
    }
  }

  /// A parameter that has a format, which an empty one violates; nil if it is missing.
  func formatted(_ name: String) -> String? { values[name] }

  /// A text; nil if it is missing or empty.
  subscript(_ name: String) -> String? {
    guard let value = values[name], !value.isEmpty else { return nil }
    return value
  }

  /// An integer. Values outside the range are refused rather than clamped.
  func int(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
    guard let text = formatted(name) else { return nil }
    guard let value = Int64(text), range.contains(value) else {
      throw .invalidParameter(
        name, "an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  /// A time for PostgreSQL, which checks the calendar (RFC 3339 §5.6); nil if it is missing.
  func moment(_ name: String) throws(Problem) -> String? {
    guard let text = formatted(name) else { return nil }
    guard text.utf8.count <= 40, JSONObject.isTime(text) else {
      throw .invalidParameter(name, "a time such as 2026-11-22T14:00:00Z")
    }
    return text
  }

  /// A text of at most `APILimits.searchBytes` bytes.
  func search(_ name: String) throws(Problem) -> String? {
    let text = self[name]
    guard (text?.utf8.count ?? 0) <= APILimits.searchBytes else {
      throw .invalidParameter(name, "a text of at most \(APILimits.searchBytes) bytes")
    }
    return text
  }

  private static func decode(_ text: Substring.UTF8View) -> String? {
    let decoded = Array(text).withRawSpan { $0.percentDecoded(plusIsSpace: true) { _ in } }
    return decoded?.utf8.contains(0) == true ? nil : decoded
  }
}

import Primitives

/// The parameters of a URL's query, `application/x-www-form-urlencoded` (WHATWG URL §5.1), strict:
/// a broken escape or text that is not UTF-8 is an error, not a guess.
struct QueryString {
  /// Bytes of a query that is looked at, and parameters in it.
  static let bytesMax = 4_096
  static let parametersMax = 32

  private var values: [String: String] = [:]

  init(_ text: String) throws(Problem) {
    guard text.utf8.count <= QueryString.bytesMax else {
      throw .invalid("The query of the URL is longer than \(QueryString.bytesMax) bytes.")
    }
    let parts = text.utf8.split(separator: UInt8(ascii: "&"))
    guard parts.count <= QueryString.parametersMax else {
      throw .invalid("The URL has more than \(QueryString.parametersMax) parameters.")
    }
    for part in parts {
      let halves = part.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = QueryString.decode(halves[0]),
        let value = halves.count == 2 ? QueryString.decode(halves[1]) : ""
      else { throw .invalid("The query of the URL is not percent-encoded UTF-8.") }
      values[name] = value
    }
  }

  /// A parameter that has a form: an empty one has not.
  func formed(_ name: String) -> String? { values[name] }

  /// A text; nil when it is missing or empty.
  subscript(_ name: String) -> String? {
    guard let value = values[name], !value.isEmpty else { return nil }
    return value
  }

  /// A whole number; values outside `range` are refused, not clamped, so that nobody is surprised.
  func int(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
    guard let text = formed(name) else { return nil }
    guard let value = Int64(text), range.contains(value) else {
      throw .invalid(
        "The parameter “\(name)” must be a number, \(range.lowerBound) to \(range.upperBound)."
      )
    }
    return value
  }

  private static func decode(_ text: Substring.UTF8View) -> String? {
    let decoded = Array(text).withRawSpan { $0.percentDecoded(plusIsSpace: true) { _ in } }
    return decoded?.utf8.contains(0) == true ? nil : decoded
  }
}

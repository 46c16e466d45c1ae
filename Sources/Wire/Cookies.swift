import Primitives

/// Reads cookies (RFC 6265). The gateway uses one: the operator's session.
extension RequestHead {
  /// The first cookie of the name in all Cookie fields (RFC 6265 §5.4).
  public func cookie(_ name: String) -> String? {
    for line in fields.values(of: "cookie") {
      if let value = RequestHead.cookie(name, in: line) { return value }
    }
    return nil
  }

  /// The first cookie of the name in the value of one Cookie field, without surrounding quotes.
  public static func cookie(_ name: String, in fieldValue: String) -> String? {
    for pair in fieldValue.split(separator: ";") {
      let pair = pair.trimmingBlanks
      guard pair.hasPrefix(name + "=") else { continue }
      let value = pair.dropFirst(name.count + 1)
      let isQuoted = value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
      return String(isQuoted ? value.dropFirst().dropLast() : value)
    }
    return nil
  }
}

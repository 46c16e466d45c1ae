/// Reads cookies (RFC 6265). The gateway uses one: the operator's session.
extension RequestHead {
  /// The first cookie of the name (RFC 6265 §5.4), without surrounding quotes.
  public func cookie(_ name: String) -> String? {
    for line in fields.values(of: "cookie") {
      for pair in line.split(separator: ";") {
        let pair = pair.drop { $0 == " " }
        guard pair.hasPrefix(name + "=") else { continue }
        let value = pair.dropFirst(name.count + 1)
        let isQuoted = value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
        return String(isQuoted ? value.dropFirst().dropLast() : value)
      }
    }
    return nil
  }
}

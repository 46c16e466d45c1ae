/// Origins as browsers send them (RFC 6454 §6.2, RFC 6455 §10.2), in one form each, so that equal
/// means the same.
public enum WebOrigin {
  /// Bytes of the longest origin that is looked at.
  public static let byteCountMax = 255

  /// Scheme and host in lower case, without the scheme's own port; nil for `null`, the empty text
  /// and whatever else is no scheme, host and port.
  ///
  /// Names beyond ASCII are compared as a browser sends them, which is `xn--…`.
  public static func normalize(_ text: String) -> String? {
    guard text.utf8.count <= byteCountMax else { return nil }
    let lower = text.lowercased()
    let parts = lower.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].isEmpty, parts[0].utf8.last == UInt8(ascii: ":"),
      isScheme(parts[0].dropLast())
    else { return nil }
    let scheme = parts[0].dropLast()
    guard let (host, port) = split(parts[2]) else { return nil }
    let isOwnPort =
      port == nil || scheme == "https" && port == 443 || scheme == "http" && port == 80
    return "\(scheme)://\(host)" + (isOwnPort ? "" : ":\(port ?? 0)")
  }

  /// Scheme, host and port of a URL.
  public static func of(url: String) -> String? {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return parts.count >= 3 ? normalize("\(parts[0])//\(parts[2])") : nil
  }

  /// RFC 3986 §3.1.
  private static func isScheme(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, isLetter(first) else { return false }
    return text.utf8.allSatisfy {
      isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-")
        || $0 == UInt8(ascii: ".")
    }
  }

  private static func split(_ authority: Substring) -> (host: Substring, port: Int?)? {
    var host = authority
    var port: Int?
    let hostEnd = authority.lastIndex(of: "]") ?? authority.startIndex
    if let colon = authority[hostEnd...].lastIndex(of: ":") {
      let digits = authority[authority.index(after: colon)...]
      guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy(isDigit),
        digits.utf8.first != UInt8(ascii: "0"), let number = Int(digits), number <= 65_535
      else { return nil }
      port = number
      host = authority[..<colon]
    }
    if host.first == "[", host.last == "]" {
      let address = host.dropFirst().dropLast()
      let isAddress =
        !address.isEmpty
        && address.utf8.allSatisfy {
          isDigit($0) || (0x61...0x66).contains($0) || $0 == UInt8(ascii: ":")
            || $0 == UInt8(ascii: ".")
        }
      return isAddress ? (host, port) : nil
    }
    let isName =
      !host.isEmpty
      && host.utf8.allSatisfy {
        isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
          || $0 == UInt8(ascii: "_")
      }
    return isName ? (host, port) : nil
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

import Primitives

/// Origins as browsers send them (RFC 6454 §6.2, RFC 6455 §10.2), normalized, so that two
/// texts are equal exactly when the origins are.
public enum WebOrigin {
  /// Bytes of the longest accepted origin.
  public static let byteCountMax = 255

  /// Scheme and host in lower case, without the scheme's default port; nil for `null`, the empty
  /// text and any text that is not a scheme, host and port.
  ///
  /// International names are compared in the form that browsers send, `xn--…`.
  public static func normalize(_ text: String) -> String? {
    guard text.utf8.count <= byteCountMax else { return nil }
    var bytes = Array(text.utf8)
    for index in bytes.indices { bytes[index] = bytes[index].lowercasedASCII }
    return bytes.withRawSpan { span -> String? in
      var colon = 0
      while colon < span.byteCount, span.byte(at: colon) != UInt8(ascii: ":") { colon += 1 }
      guard isScheme(span.extracting(0..<colon)), span.byteCount > colon + 3,
        span.extracting(colon..<colon + 3).equals("://"),
        let (hostEnd, port) = split(span, from: colon + 3)
      else { return nil }
      let isOwnPort = port == ownPort(of: span.extracting(0..<colon))
      return span.extracting(0..<(isOwnPort ? hostEnd : span.byteCount)).string
    }
  }

  /// Scheme, host and port of a URL.
  public static func of(url: String) -> String? {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return parts.count >= 3 ? normalize("\(parts[0])//\(parts[2])") : nil
  }

  /// Whether a normalized origin is that of the pages of `host`, which is the value of a `Host`
  /// field. With `onlyTLS`, an origin over plain HTTP does not match.
  public static func isOrigin(_ origin: String, ofHost host: String, onlyTLS: Bool) -> Bool {
    let isTLS = origin.utf8.starts(with: "https://".utf8)
    guard isTLS || !onlyTLS && origin.utf8.starts(with: "http://".utf8) else { return false }
    let authority = origin.utf8.dropFirst(isTLS ? 8 : 7)
    var bytes = Array(host.utf8)
    for index in bytes.indices { bytes[index] = bytes[index].lowercasedASCII }
    guard let (hostEnd, port) = bytes.withRawSpan({ split($0, from: 0) }) else { return false }
    return bytes.prefix(port == (isTLS ? 443 : 80) ? hostEnd : bytes.count)
      .elementsEqual(authority)
  }

  private static func ownPort(of scheme: RawSpan) -> Int? {
    scheme.equals("https") ? 443 : scheme.equals("http") ? 80 : nil
  }

  /// RFC 3986 §3.1.
  private static func isScheme(_ text: RawSpan) -> Bool {
    guard text.byteCount > 0, text.byte(at: 0).isASCIILetter else { return false }
    return text.allSatisfy {
      $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-")
        || $0 == UInt8(ascii: ".")
    }
  }

  /// The end of the host that begins at `start`, and the port after it; nil when malformed.
  private static func split(_ text: RawSpan, from start: Int) -> (hostEnd: Int, port: Int?)? {
    var hostEnd = text.byteCount
    var port: Int?
    var last = text.byteCount - 1
    while last >= start, text.byte(at: last).isASCIIDigit { last -= 1 }
    if last >= start, text.byte(at: last) == UInt8(ascii: ":") {
      let digits = text.byteCount - last - 1
      guard (1...5).contains(digits), text.byte(at: last + 1) != UInt8(ascii: "0") else {
        return nil
      }
      var number = 0
      for offset in (last + 1)..<text.byteCount {
        number = number * 10 + Int(text.byte(at: offset) - UInt8(ascii: "0"))
      }
      guard number <= 65_535 else { return nil }
      (hostEnd, port) = (last, number)
    }
    return isHost(text.extracting(start..<hostEnd)) ? (hostEnd, port) : nil
  }

  /// An IPv6 address in brackets, an IPv4 address or a name.
  private static func isHost(_ host: RawSpan) -> Bool {
    guard host.byteCount > 0 else { return false }
    if host.byteCount > 2, host.byte(at: 0) == UInt8(ascii: "["),
      host.byte(at: host.byteCount - 1) == UInt8(ascii: "]")
    {
      return host.extracting(1..<host.byteCount - 1).allSatisfy {
        $0.isASCIIDigit || (0x61...0x66).contains($0) || $0 == UInt8(ascii: ":")
          || $0 == UInt8(ascii: ".")
      }
    }
    return host.allSatisfy {
      $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
        || $0 == UInt8(ascii: "_")
    }
  }
}

extension RawSpan {
  fileprivate func allSatisfy(_ holds: (UInt8) -> Bool) -> Bool {
    for offset in 0..<byteCount where !holds(byte(at: offset)) { return false }
    return true
  }
}

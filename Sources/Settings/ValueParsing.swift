/// The texts that single values may be. Each function answers nil for what it does not accept.

func parseBoolean(_ text: String) -> Bool? {
  switch text.lowercased() {
  case "true", "yes", "on", "1": true
  case "false", "no", "off", "0": false
  default: nil
  }
}

/// `host:port`, an IPv6 address in brackets (RFC 3986 §3.2.2).
func parseListen(_ text: String) -> ListenAddress? {
  guard let colon = text.lastIndex(of: ":"),
    let port = decimal(text[text.index(after: colon)...]), let port = UInt16(exactly: port)
  else { return nil }
  let host = text[..<colon]
  if host == "localhost" { return ListenAddress(host: "127.0.0.1", port: port) }
  if host.first == "[", host.last == "]" {
    let address = host.dropFirst().dropLast()
    return isIPv6(address) ? ListenAddress(host: String(address), port: port) : nil
  }
  return isIPv4(host) ? ListenAddress(host: String(host), port: port) : nil
}

/// Four decimal numbers up to 255, without leading zeros (RFC 3986 §3.2.2).
private func isIPv4(_ text: Substring) -> Bool {
  let parts = text.split(separator: ".", omittingEmptySubsequences: false)
  return parts.count == 4
    && parts.allSatisfy { part in
      guard let number = decimal(part), number <= 255 else { return false }
      return part.count == 1 || part.first != "0"
    }
}

/// Eight groups of hexadecimal digits, or fewer around one `::` (RFC 4291 §2.2, without the
/// embedded IPv4 form).
private func isIPv6(_ text: Substring) -> Bool {
  let halves = text.components(around: "::")
  guard halves.count <= 2 else { return false }
  var groups = 0
  for half in halves where !half.isEmpty {
    for group in half.split(separator: ":", omittingEmptySubsequences: false) {
      guard (1...4).contains(group.utf8.count), group.utf8.allSatisfy(isHexadecimal) else {
        return false
      }
      groups += 1
    }
  }
  return halves.count == 2 ? groups <= 7 : groups == 8
}

/// An IPv4 or IPv6 address, or a range of them: `10.0.0.0/8` (RFC 4632 §3.1, RFC 4291 §2.3).
func parseRange(_ text: String) -> String? {
  let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
  guard isIPv4(parts[0]) || isIPv6(parts[0]) else { return nil }
  guard parts.count == 2 else { return text }
  guard let bits = decimal(parts[1]), bits <= (isIPv4(parts[0]) ? 32 : 128) else { return nil }
  return text
}

/// The name of a host, or `*`.
func parseHost(_ text: String) -> String? {
  text == "*" || isAuthority(Substring(text)) && !text.contains(":") ? text.lowercased() : nil
}

/// A key is random, so what is too short, or one letter again and again, is none.
func parseKeyText(_ text: String) -> String? {
  (32...256).contains(text.utf8.count) && Set(text.utf8).count >= 8 ? text : nil
}

/// `443` or `8000-8999`.
func parsePorts(_ text: String) -> ClosedRange<Int>? {
  let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { decimal($0) }
  guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
    1 <= first, first <= last, last <= 65_535
  else { return nil }
  return first...last
}

func parsePath(_ text: String) -> String? { text.isEmpty || text.utf8.contains(0) ? nil : text }

/// `http` or `https`, a host, perhaps a port and a path; the trailing slash is dropped.
func parsePublicURL(_ text: String) -> String? {
  guard let rest = text.afterScheme else { return nil }
  let authority = rest.prefix { $0 != "/" }
  guard isAuthority(authority), !rest.contains("?"), !rest.contains("#") else { return nil }
  guard
    rest.utf8.allSatisfy({
      $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C && $0 != 0x3C && $0 != 0x3E
    })
  else { return nil }
  return text.last == "/" ? String(text.dropLast()) : text
}

/// A serialised origin (RFC 6454 §6.2) or `*`. Browsers write it in lower case, so it is compared
/// in lower case.
func parseOrigin(_ text: String) -> String? {
  if text == "*" { return text }
  guard let authority = text.afterScheme, isAuthority(authority) else { return nil }
  return text.lowercased()
}

/// libpq's two forms: a URI, or `key=value` words. libpq checks the rest when it connects.
func isConnectionString(_ text: String) -> Bool {
  if text.utf8.contains(0) { return false }
  return text.utf8.starts(with: "postgres://".utf8) || text.utf8.starts(with: "postgresql://".utf8)
    || (text.contains("=") && !text.contains("://"))
}

private func isAuthority(_ text: Substring) -> Bool {
  var host = text
  if let colon = text.lastIndex(of: ":"), text.last != "]" {
    guard let port = decimal(text[text.index(after: colon)...]), (1...65_535).contains(port)
    else { return false }
    host = text[..<colon]
  }
  if host.first == "[", host.last == "]" { return isIPv6(host.dropFirst().dropLast()) }
  return !host.isEmpty
    && host.utf8.allSatisfy {
      isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
    }
}

private func decimal(_ text: some StringProtocol) -> Int? {
  guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
  else { return nil }
  return Int(text)
}

private func isHexadecimal(_ byte: UInt8) -> Bool {
  0x30...0x39 ~= byte || 0x61...0x66 ~= byte | 0x20
}

private func isLetterOrDigit(_ byte: UInt8) -> Bool {
  0x30...0x39 ~= byte || 0x61...0x7A ~= byte | 0x20
}

extension String {
  /// What follows `http://` or `https://`.
  fileprivate var afterScheme: Substring? {
    for scheme in ["http://", "https://"] where lowercased().utf8.starts(with: scheme.utf8) {
      return dropFirst(scheme.count)
    }
    return nil
  }
}

extension Substring {
  /// The parts around each occurrence of a two-letter separator.
  fileprivate func components(around separator: String) -> [Substring] {
    var parts: [Substring] = []
    var start = startIndex
    var index = startIndex
    while index < endIndex {
      if self[index...].utf8.starts(with: separator.utf8) {
        parts.append(self[start..<index])
        index = self.index(index, offsetBy: separator.count)
        start = index
      } else {
        index = self.index(after: index)
      }
    }
    return parts + [self[start...]]
  }
}

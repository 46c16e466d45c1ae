/// Parses the texts of single values. Each function returns nil for a text that is not accepted.
import Kernel
import Primitives

func parseBoolean(_ text: String) -> Bool? {
  switch text.lowercased() {
  case "true", "yes", "on", "1": true
  case "false", "no", "off", "0": false
  default: nil
  }
}

/// `host:port`, an IPv6 address in brackets (RFC 3986 §3.2.2).
func parseListen(_ text: String) -> ListenAddress? {
  guard let authority = HostAndPort(text[...]), let port = authority.port else { return nil }
  let host = String(authority.host)
  if host == "localhost", !authority.isBracketed {
    return ListenAddress(host: "127.0.0.1", port: port)
  }
  guard IPAddress(host) != nil, host.contains(":") == authority.isBracketed else { return nil }
  return ListenAddress(host: host, port: port)
}

/// An IPv4 or IPv6 address, or a range of them: `10.0.0.0/8` (RFC 4632 §3.1, RFC 4291 §2.3).
func parseRange(_ text: String) -> String? {
  AddressRange(text) == nil ? nil : text
}

/// A host name without port in lower case, or `*`.
func parseHost(_ text: String) -> String? {
  text == "*" || isAuthority(Substring(text)) && !text.contains(":") ? text.lowercased() : nil
}

/// The name of a header field (RFC 9110 §5.1).
func parseFieldName(_ text: String) -> String? {
  (1...64).contains(text.utf8.count)
    && text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "-_".utf8.contains($0) }
    ? text : nil
}

/// A key: 32 to 256 bytes, at least 8 of them different, since keys are random.
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

/// `22:30-04:00`, with the name of a time zone behind it unless it is UTC. Whether PostgreSQL knows
/// the name is checked when there is a connection.
func parseWindow(_ text: String) -> MaintenanceWindow? {
  let words = text.split(separator: " ", omittingEmptySubsequences: false)
  let times = words[0].split(separator: "-", omittingEmptySubsequences: false).map { minute($0) }
  guard (1...2).contains(words.count), times.count == 2, let begin = times[0], let end = times[1],
    begin != end
  else { return nil }
  guard words.count == 2 else { return MaintenanceWindow(begin: begin, end: end) }
  let zone = words[1]
  let isName =
    (1...64).contains(zone.utf8.count)
    && zone.utf8.allSatisfy {
      $0.isASCIILetter || $0.isASCIIDigit || "_+-/".utf8.contains($0)
    }
  return isName ? MaintenanceWindow(begin: begin, end: end, zone: String(zone)) : nil
}

/// `02:00` as minutes since midnight.
private func minute(_ text: Substring) -> Int? {
  let parts = text.split(separator: ":", omittingEmptySubsequences: false)
  guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }),
    let hour = decimal(parts[0]), let minute = decimal(parts[1]), hour < 24, minute < 60
  else { return nil }
  return hour * 60 + minute
}

/// A user's name, as useradd(8) accepts it.
func parseUser(_ text: String) -> String? {
  (1...32).contains(text.utf8.count) && text != "root" && text.utf8.first != UInt8(ascii: "-")
    && text.utf8.allSatisfy {
      $0.isASCIILetter || $0.isASCIIDigit || "_-.$".utf8.contains($0)
    } ? text : nil
}

func parsePath(_ text: String) -> String? { text.isEmpty || text.utf8.contains(0) ? nil : text }

/// An absolute URL: `http` or `https`, a host, an optional port and path. A trailing slash is
/// removed.
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

/// A serialised origin (RFC 6454 §6.2) in lower case, as browsers send it, or `*`.
func parseOrigin(_ text: String) -> String? {
  if text == "*" { return text }
  guard let authority = text.afterScheme, isAuthority(authority) else { return nil }
  return text.lowercased()
}

/// One of libpq's two forms: a URI, or `key=value` words. libpq checks the rest when it connects.
func isConnectionString(_ text: String) -> Bool {
  if text.utf8.contains(0) { return false }
  return text.utf8.starts(with: "postgres://".utf8) || text.utf8.starts(with: "postgresql://".utf8)
    || (text.contains("=") && !text.contains("://"))
}

private func isAuthority(_ text: Substring) -> Bool {
  guard let authority = HostAndPort(text), authority.portText == nil || authority.port ?? 0 > 0
  else { return false }
  let host = authority.host
  if authority.isBracketed { return host.contains(":") && IPAddress(String(host)) != nil }
  return !host.isEmpty
    && host.utf8.allSatisfy {
      $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
    }
}

private func decimal(_ text: some StringProtocol) -> Int? {
  guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit)
  else { return nil }
  return Int(text)
}

extension String {
  /// The text after `http://` or `https://`.
  fileprivate var afterScheme: Substring? {
    for scheme in ["http://", "https://"] where lowercased().utf8.starts(with: scheme.utf8) {
      return dropFirst(scheme.count)
    }
    return nil
  }
}

/// `smtp://host:587` or `smtps://host`, without user, query and fragment. A path is the name with
/// which the gateway introduces itself (EHLO).
func parseSMTPURL(_ text: String) -> String? {
  guard let scheme = ["smtp://", "smtps://"].first(where: { text.hasPrefix($0) }) else {
    return nil
  }
  let rest = text.dropFirst(scheme.utf8.count).split(
    separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
  let name = rest.count > 1 ? rest[1] : ""
  guard text.utf8.count <= 512, let authority = rest.first.flatMap({ HostAndPort($0) }),
    !authority.host.isEmpty, authority.portText == nil || (authority.port ?? 0) > 0,
    authority.host.utf8.allSatisfy({
      $0.isASCIILetter || $0.isASCIIDigit || ".-:".utf8.contains($0)
    }),
    name.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || ".-".utf8.contains($0) })
  else { return nil }
  return text
}

/// `imaps://host:993/INBOX` or `imap://host/INBOX`, without user, query and fragment. Without a
/// path the folder is INBOX.
func parseIMAPURL(_ text: String) -> String? {
  guard let scheme = ["imap://", "imaps://"].first(where: { text.hasPrefix($0) }) else {
    return nil
  }
  let rest = text.dropFirst(scheme.utf8.count).split(
    separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
  let folder = rest.count > 1 && !rest[1].isEmpty ? String(rest[1]) : "INBOX"
  guard text.utf8.count <= 512, let authority = rest.first.flatMap({ HostAndPort($0) }),
    !authority.host.isEmpty, authority.portText == nil || (authority.port ?? 0) > 0,
    authority.host.utf8.allSatisfy({
      $0.isASCIILetter || $0.isASCIIDigit || ".-:".utf8.contains($0)
    }), parseMailFolder(folder) != nil
  else { return nil }
  return "\(scheme)\(rest[0])/\(folder)"
}

/// The name of a folder, which stands in commands and URLs as it is.
func parseMailFolder(_ text: String) -> String? {
  (1...100).contains(text.utf8.count)
    && text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "./-_".utf8.contains($0) }
    ? text : nil
}

/// An address in which a token has its place: see `Mail.ReplyAddress`.
func parseReplyAddress(_ text: String) -> String? {
  parseMailAddress(text).flatMap { $0.prefix { $0 != "@" }.utf8.count <= 19 ? $0 : nil }
}

/// An `authserv-id`: a host name, as a rule.
func parseMailServerName(_ text: String) -> String? {
  (1...255).contains(text.utf8.count)
    && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"()<>;\"=".utf8.contains($0) }
    ? text : nil
}

/// A user name or a password: no control characters, which end a line of SMTP.
func parseMailCredential(_ text: String) -> String? {
  (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    ? text : nil
}

/// An address without a name: of printable ASCII characters, without quotes.
func parseMailAddress(_ text: String) -> String? {
  let parts = text.split(separator: "@", omittingEmptySubsequences: false)
  guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= 254,
    text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"<>()[],;:\\\"".utf8.contains($0) })
  else { return nil }
  return text
}

import JSON
import Kernel
import OpenSSL
import Primitives
import Synchronization
import Wire

/// Shows `chirrup doctor` how a request arrives here, so that it can compare that with the request
/// that it sent to `public_url`: which fields a proxy in between has changed, and whether the proxy
/// passes the answer on while it is still written.
///
/// Only `POST /probe` at `admin_listen` gives a token, so that no stranger gets an answer.
final class ProxyProbe: Sendable {
  static let issuePath = "/probe"
  /// The token follows.
  static let path = "/probe/"
  /// Tokens at once. A further one replaces the oldest.
  static let tokensMax = 8
  /// Requests with one token.
  static let usesMax = 4
  static let tokenMilliseconds: Int64 = 30_000
  /// The time between the answer's last byte and its end. A proxy that buffers answers passes
  /// nothing on before that.
  static let heldMilliseconds: Int64 = 3_000

  private struct Token {
    var text: String
    var usesLeft: Int
    var end: Instant
  }

  private let tokens = Mutex<[Token]>([])

  func issue(now: Instant) -> String {
    let text = SecureRandom.bytes(16).hexadecimal
    tokens.withLock { tokens in
      tokens.removeAll { $0.end <= now }
      if tokens.count >= ProxyProbe.tokensMax { tokens.removeFirst() }
      let end = now.advanced(byMilliseconds: ProxyProbe.tokenMilliseconds)
      tokens.append(Token(text: text, usesLeft: ProxyProbe.usesMax, end: end))
    }
    return text
  }

  /// Whether the path has a valid token; counts its use.
  func admits(_ path: String, now: Instant) -> Bool {
    let text = path.dropFirst(ProxyProbe.path.count)
    return tokens.withLock { tokens in
      guard
        let index = tokens.firstIndex(where: { $0.text == text && $0.usesLeft > 0 && now < $0.end })
      else { return false }
      tokens[index].usesLeft -= 1
      return true
    }
  }

  /// The whole response. The end of the connection ends its body (RFC 9112 §6.3), so that it can be
  /// held open behind the last byte.
  static func response(
    _ head: RequestHead, peer: PeerAddress, client: IPAddress, isTrusted: Bool, isSecure: Bool,
    at time: WallTime
  ) -> [UInt8] {
    var json: [UInt8] = [UInt8(ascii: "{")]
    json.appendMember("peer", "\(peer)")
    json.appendMember("peer_is_trusted", isTrusted)
    json.appendMember("client", "\(client)")
    json.appendMember("secure", isSecure)
    json.appendMember("host", ifAny: head.value(of: "host"))
    json.appendMember("forwarded_for", ifAny: list(of: "x-forwarded-for", head))
    json.appendMember("forwarded_proto", ifAny: list(of: "x-forwarded-proto", head))
    json.append("}\n" as StaticString)
    var bytes: [UInt8] = []
    ResponseHead.appendStatusLine(200, to: &bytes)
    ResponseHead.appendDate(time, to: &bytes)
    ResponseHead.appendField("Content-Type", "application/json", to: &bytes)
    ResponseHead.appendField("Cache-Control", "no-store", to: &bytes)
    ResponseHead.appendField("X-Content-Type-Options", "nosniff", to: &bytes)
    ResponseHead.appendField("Connection", "close", to: &bytes)
    ResponseHead.appendEnd(to: &bytes)
    return bytes + json
  }

  private static func list(of name: StaticString, _ head: RequestHead) -> String? {
    let values = head.fields.list(of: name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}

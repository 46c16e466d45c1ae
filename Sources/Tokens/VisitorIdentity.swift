/// Who a visitor is, as the host site signed it: a JWT (RFC 7519) by HS256 under the workspace's
/// identity secret. Without a signature nobody is believed to be anybody.
///
/// The order of the checks is that of `TokenAuthority`: size, form, signature (compared in constant
/// time), and only then is any JSON read.
import OpenSSL
public import Primitives

public struct VisitorIdentity: Sendable, Equatable {
  /// The host site's own id of this person (`sub`).
  public var externalID: String
  public var name: String?
  public var email: String?

  /// Bytes of the longest of each.
  public static let externalIDBytesMax = 255
  public static let nameBytesMax = 200
  public static let emailBytesMax = 320

  public init(externalID: String, name: String? = nil, email: String? = nil) {
    self.externalID = externalID
    self.name = name
    self.email = email
  }

  /// Refuses what this workspace's secret did not sign, what has ended, and what names nobody. It
  /// must end (`exp`): a copy of it is then worth nothing for long.
  public init(
    token: [UInt8], secret: [UInt8], now: WallTime
  ) throws(TokenFault) {
    guard token.count <= TokenAuthority.tokenBytesMax else { throw .tooLarge }
    // An empty key would verify what anybody can sign.
    guard !secret.isEmpty else { throw .badSignature }
    let key = HMACSHA256Key(secret)
    self = try token.withRawSpan { (text) throws(TokenFault) in
      let parts = try TokenAuthority.authenticated(text, by: key)
      try TokenAuthority.checkHeader(text.extracting(parts.header))
      return try TokenAuthority.decoded(text.extracting(parts.claims)).withRawSpan {
        (json) throws(TokenFault) in try VisitorIdentity(json: json, now: now)
      }
    }
  }

  private init(json: RawSpan, now: WallTime) throws(TokenFault) {
    var reader = ObjectReader()
    var subject: String?
    var expires: Int64?
    var begins: Int64?
    while let (range, value) = try reader.next(json) {
      let key = json.extracting(range)
      if key.equals("sub") {
        subject = try Claims.string(value, json)
      } else if key.equals("name") {
        name = try Claims.string(value, json)
      } else if key.equals("email") {
        email = try Claims.string(value, json)
      } else if key.equals("exp") {
        expires = try Claims.seconds(value, json)
      } else if key.equals("nbf") {
        begins = try Claims.seconds(value, json)
      }
    }
    let seconds = now.microseconds / 1_000_000
    guard let subject, !subject.isEmpty, let expires,
      subject.utf8.count <= VisitorIdentity.externalIDBytesMax,
      (name ?? "").utf8.count <= VisitorIdentity.nameBytesMax,
      (email ?? "").utf8.count <= VisitorIdentity.emailBytesMax
    else { throw .malformed }
    guard expires > seconds else { throw .expired }
    guard begins ?? 0 <= seconds else { throw .notYetValid }
    externalID = subject
  }
}

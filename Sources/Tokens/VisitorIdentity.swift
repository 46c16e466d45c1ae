/// A visitor's identity as signed by the host site: a JWT (RFC 7519) with HS256 and one of the
/// workspace's identity secrets.
///
/// Checks are ordered as in `TokenAuthority`: size, form, signature (compared in constant time),
/// and only then JSON.
import OpenSSL
public import Primitives

public struct VisitorIdentity: Sendable, Equatable {
  /// The host site's id of the visitor (`sub`).
  public var externalID: String
  public var name: String?
  public var email: String?

  /// Bytes of the longest value of each.
  public static let externalIDBytesMax = 255
  public static let nameBytesMax = 200
  public static let emailBytesMax = 320

  public init(externalID: String, name: String? = nil, email: String? = nil) {
    self.externalID = externalID
    self.name = name
    self.email = email
  }

  /// Refuses tokens with another signature, expired ones, and those without a subject. `exp` is
  /// required, so that a copied token is useful only for a short time.
  public init(
    token: [UInt8], secret: [UInt8], now: WallTime
  ) throws(TokenFault) {
    guard token.count <= TokenAuthority.tokenBytesMax else { throw .tooLarge }
    // With an empty key anybody could sign.
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

  /// With the first secret that signed it.
  public init(
    token: [UInt8], secrets: [[UInt8]], now: WallTime
  ) throws(TokenFault) {
    for secret in secrets {
      do throws(TokenFault) {
        self = try VisitorIdentity(token: token, secret: secret, now: now)
        return
      } catch .badSignature {
        continue
      }
    }
    throw .badSignature
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

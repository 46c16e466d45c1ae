/// Issues and verifies the gateway's tokens: JSON Web Tokens (RFC 7519) with HS256. The signing
/// keys are in the database, so that every gateway of a deployment accepts the others' tokens.
///
/// Checks are ordered: size, form, signature, and only then JSON, so that no JSON of an
/// unauthenticated peer is parsed.
import JSON
import OpenSSL
public import Primitives

public struct TokenAuthority: Sendable {
  /// Bytes of the longest token that is accepted or issued.
  public static let tokenBytesMax = 4_096
  /// Bytes of the shortest signing key (RFC 7518 §3.2: the length of the hash).
  public static let secretBytesMin = 32

  private let ring: KeyRing

  /// With one key, which has no end.
  public init(secret: [UInt8]) {
    self.init(keys: [
      TokenKey(id: nil, secret: secret, startsAt: WallTime(microseconds: 0), endsAt: nil)
    ])
  }

  public init(keys: [TokenKey]) { ring = KeyRing(keys) }

  /// Replaces the keys, of this value and of its copies.
  ///
  /// - Returns: the keys that have ended since the last call, see `VerifiedToken.key`.
  public func use(_ keys: [TokenKey], now: WallTime) -> [UInt32] { ring.use(keys, now: now) }

  /// Issues a token for `principal` that expires at least `lifetimeSeconds` after `now`, at a whole
  /// second.
  public func issue(
    _ principal: Principal, boundTo binding: TokenBinding = TokenBinding(), lifetimeSeconds: Int,
    now: WallTime
  ) throws(TokenFault) -> (token: String, expiresAt: WallTime) {
    let issuedAt = now.microseconds / 1_000_000
    let expiresAt = issuedAt + Int64(lifetimeSeconds)
    let claims = Claims(principal, binding, issuedAt: issuedAt, expiresAt: expiresAt)
    return (try sign(claims, now: now), WallTime(microseconds: expiresAt * 1_000_000))
  }

  private func sign(_ claims: Claims, now: WallTime) throws(TokenFault) -> String {
    let key = ring.signing(at: now)
    let signed = "\(key.header).\(Base64.url.encode(claims.json))"
    let signature = Array(signed.utf8).withRawSpan { key.code.code(for: $0) }
    let token = "\(signed).\(Base64.url.encode(signature))"
    guard token.utf8.count <= TokenAuthority.tokenBytesMax else { throw .tooLarge }
    return token
  }

  /// Returns the principal of a token that was signed with an accepted key and has not expired at
  /// `now`.
  public func verify(
    _ token: [UInt8], now: WallTime
  ) throws(TokenFault) -> VerifiedToken {
    let (claims, key) = try claims(of: token, now: now)
    return VerifiedToken(
      principal: try claims.principal(),
      expiresAt: WallTime(microseconds: claims.exp * 1_000_000), binding: claims.binding, key: key)
  }

  /// A token of the instance's operator, which the command line shows to a running gateway. A
  /// reader of the signing keys can issue any token, so this one adds no right.
  public func issueForInstance(now: WallTime) throws(TokenFault) -> String {
    let issuedAt = now.microseconds / 1_000_000
    var claims = Claims(
      .operator(id: .zero, workspace: .zero, name: "", role: ""), TokenBinding(),
      issuedAt: issuedAt, expiresAt: issuedAt + TokenAuthority.instanceSeconds)
    claims.aud = Claims.instanceAudience
    return try sign(claims, now: now)
  }

  private static let instanceSeconds: Int64 = 60

  /// Whether a token is one of `issueForInstance` and valid at `now`.
  public func isOfInstance(_ token: [UInt8], now: WallTime) -> Bool {
    guard let (claims, _) = try? claims(of: token, now: now) else { return false }
    return claims.iss == Claims.issuer && claims.aud == Claims.instanceAudience
  }

  /// The claims of a token with a valid signature and time.
  private func claims(
    of token: [UInt8], now: WallTime
  ) throws(TokenFault) -> (claims: Claims, key: UInt32) {
    guard token.count <= TokenAuthority.tokenBytesMax else { throw .tooLarge }
    let (claims, key) = try token.withRawSpan { (text) throws(TokenFault) in
      let (parts, key) = try authenticated(text, now: now)
      try TokenAuthority.checkHeader(text.extracting(parts.header))
      let claims = try TokenAuthority.decoded(text.extracting(parts.claims)).withRawSpan {
        (json) throws(TokenFault) in try Claims(json: json)
      }
      return (claims, key)
    }
    guard claims.exp > now.microseconds / 1_000_000, claims.exp < Int64.max / 1_000_000
    else { throw .expired }
    guard claims.nbf ?? 0 <= now.microseconds / 1_000_000 else { throw .notYetValid }
    return (claims, key)
  }

  private func authenticated(
    _ token: RawSpan, now: WallTime
  ) throws(TokenFault) -> (parts: (header: Range<Int>, claims: Range<Int>), key: UInt32) {
    var fault = TokenFault.badSignature
    for key in ring.accepted(at: now, for: token) {
      do throws(TokenFault) {
        return (try TokenAuthority.authenticated(token, by: key.code), key.serial)
      } catch {
        fault = error
      }
    }
    throw fault
  }

  /// Verifies the signature of the first two parts, which is the third one (RFC 7515 §5.2). The
  /// signature is decoded strictly, so that a token has only one text.
  static func authenticated(
    _ token: RawSpan, by key: HMACSHA256Key
  ) throws(TokenFault) -> (header: Range<Int>, claims: Range<Int>) {
    var dots: [2 of Int] = [0, 0]
    var dotCount = 0
    for offset in 0..<token.byteCount where token.byte(at: offset) == UInt8(ascii: ".") {
      guard dotCount < 2 else { throw .malformed }
      dots[dotCount] = offset
      dotCount += 1
    }
    guard dotCount == 2, dots[0] > 0, dots[1] > dots[0] + 1,
      let signature = Base64.url.decode(token.extracting(dots[1] + 1..<token.byteCount))
    else { throw .malformed }
    guard key.isValid(signature, for: token.extracting(0..<dots[1])) else { throw .badSignature }
    return (0..<dots[0], dots[0] + 1..<dots[1])
  }

  static func decoded(_ part: RawSpan) throws(TokenFault) -> [UInt8] {
    guard let bytes = Base64.url.decode(part) else { throw .malformed }
    return bytes
  }

  /// Accepts only HS256, and no critical extension.
  static func checkHeader(_ part: RawSpan) throws(TokenFault) {
    var isOurs = false
    var isCritical = false
    try decoded(part).withRawSpan { (json) throws(TokenFault) in
      var reader = ObjectReader()
      while let (name, value) = try reader.next(json) {
        if json.extracting(name).equals("alg") {
          isOurs = value.kind == .string && json.extracting(value.range).equals("HS256")
        } else if json.extracting(name).equals("crit") {
          isCritical = value.kind != .null
        }
      }
    }
    guard isOurs, !isCritical else { throw .unsupportedAlgorithm }
  }
}

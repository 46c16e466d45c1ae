/// Issues and verifies the gateway's own tokens: JSON Web Tokens (RFC 7519) signed by HS256 with
/// the signing key of the database, so that every node of a deployment accepts what any of them
/// issued.
///
/// JWTKit encodes, signs and decodes; the order of the checks is ours: size, form, signature, and
/// only then is any JSON read, so no stranger's JSON ever reaches a parser. Only `init` is async
/// (JWTKit hands its key out through an actor); verifying takes some 20 microseconds and may be
/// done on a loop.
import JWTKit
import OpenSSL
public import Primitives

public struct TokenAuthority: Sendable {
  /// Bytes of the longest token that is looked at, or issued.
  public static let tokenBytesMax = 4_096
  /// Bytes of the shortest signing key (RFC 7518 §3.2: as many as the hash has).
  public static let secretBytesMin = 32

  private let key: any JWTAlgorithm
  private let parser = DefaultJWTParser()
  private let serializer = DefaultJWTSerializer()

  public init(secret: [UInt8]) async throws {
    precondition(
      secret.count >= TokenAuthority.secretBytesMin, "an HS256 key has 32 bytes or more")
    let keys = await JWTKeyCollection().add(
      hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
    key = try await keys.getKey()
  }

  /// A token for `principal` that ends `lifetimeSeconds` after `now`; its end falls on a whole
  /// second.
  public func issue(
    _ principal: Principal, boundTo binding: TokenBinding = TokenBinding(), lifetimeSeconds: Int,
    now: WallTime
  ) throws -> (token: String, expiresAt: WallTime) {
    let issuedAt = now.microseconds / 1_000_000
    let expiresAt = issuedAt + Int64(lifetimeSeconds)
    let claims = Claims(principal, binding, issuedAt: issuedAt, expiresAt: expiresAt)
    let header: JWTHeader = ["alg": "HS256", "typ": "JWT"]
    let body = try Base64.url.encode([UInt8](serializer.jsonEncoder.encode(header)))
    let payload = try String(
      decoding: serializer.serialize(claims, header: header), as: UTF8.self)
    let signed = "\(body).\(payload)"
    let signature = try key.sign(Array(signed.utf8))
    let token = "\(signed).\(Base64.url.encode(signature))"
    guard token.utf8.count <= TokenAuthority.tokenBytesMax else { throw TokenFault.tooLarge }
    return (token, WallTime(microseconds: expiresAt * 1_000_000))
  }

  /// The principal of a token that this gateway's key signed and that has not ended at `now`.
  public func verify(
    _ token: [UInt8], now: WallTime
  ) throws(TokenFault) -> VerifiedToken {
    guard token.count <= TokenAuthority.tokenBytesMax else { throw .tooLarge }
    try verifySignature(of: token)
    let header: JWTHeader
    let claims: Claims
    do {
      (header, claims, _) = try parser.parse(token, as: Claims.self)
    } catch {
      throw .malformed
    }
    guard header.alg == "HS256", header.crit == nil else { throw .unsupportedAlgorithm }
    let principal = try claims.principal()
    guard claims.exp > now.microseconds / 1_000_000, claims.exp < Int64.max / 1_000_000
    else { throw .expired }
    guard claims.nbf ?? 0 <= now.microseconds / 1_000_000 else { throw .notYetValid }
    return VerifiedToken(
      principal: principal, expiresAt: WallTime(microseconds: claims.exp * 1_000_000),
      binding: claims.binding)
  }

  /// RFC 7515 §5.2. The signature is decoded strictly, so that one token has one text.
  private func verifySignature(of token: [UInt8]) throws(TokenFault) {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty,
      let signature = Base64.url.decode(parts[2])
    else { throw .malformed }
    let signed = token[..<parts[1].endIndex]
    let isValid = (try? key.verify(signature, signs: signed)) ?? false
    guard isValid else { throw .badSignature }
  }
}

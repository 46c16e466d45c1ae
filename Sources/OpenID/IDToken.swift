/// The ID token of an identity provider (OpenID Connect Core §2, §3.1.3.7): a signed statement
/// about a person. `verified` returns its claims only after every check.
public import JSON
import OpenSSL
public import Primitives

/// The reason why a token is refused, for the log and the audit log.
public enum IDTokenFault: String, Error, Sendable, CaseIterable {
  case tooLong = "token_too_long"
  case malformed = "token_malformed"
  /// Neither RS256 nor ES256: `none` and HS256 among them.
  case algorithm = "token_algorithm"
  case unknownKey = "token_key_unknown"
  case signature = "token_signature"
  case issuer = "token_issuer"
  case audience = "token_audience"
  case authorizedParty = "token_authorized_party"
  case expired = "token_expired"
  case future = "token_from_the_future"
  case nonce = "token_nonce"
  case subject = "token_subject"
  /// The setting `required_acr` is not met.
  case context = "token_acr"
  /// The setting `required_amr` is not met.
  case method = "token_amr"
}

public struct IDToken: Sendable {
  public static let bytesMax = 16_384
  /// By how much clocks may differ.
  static let skewSeconds: Double = 60

  /// The values that a token must state.
  public struct Expectation: Sendable {
    public var issuer: String
    public var clientID: String
    public var nonce: String
    /// The value of `acr`; nil: any.
    public var context: String?
    /// A value of `amr`; nil: any.
    public var method: String?

    public init(
      issuer: String, clientID: String, nonce: String, context: String? = nil,
      method: String? = nil
    ) {
      self.issuer = issuer
      self.clientID = clientID
      self.nonce = nonce
      self.context = context
      self.method = method
    }
  }

  let algorithm: SignatureAlgorithm
  let keyID: String?
  private let claims: JSONObject
  private let signed: [UInt8]
  private let signature: [UInt8]

  /// Reads the compact form (RFC 7515 §3.1).
  public init(_ text: String) throws(IDTokenFault) {
    guard text.utf8.count <= IDToken.bytesMax else { throw .tooLong }
    let parts = text.utf8.split(
      separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, let headerText = Base64.url.decode(parts[0]),
      let claimsText = Base64.url.decode(parts[1]), let signature = Base64.url.decode(parts[2]),
      let header = try? JSONObject(headerText), let claims = try? JSONObject(claimsText)
    else { throw .malformed }
    switch header.text("alg") {
    case "RS256": algorithm = .rs256
    case "ES256": algorithm = .es256
    default: throw .algorithm
    }
    // RFC 7515 §4.1.11: no extension is understood here.
    guard header.members["crit"] == nil else { throw .malformed }
    if header.members["kid"] != nil, header.text("kid") == nil { throw .malformed }
    keyID = header.text("kid")
    self.claims = claims
    self.signature = signature
    signed = Array(text.utf8.prefix(parts[0].count + 1 + parts[1].count))
  }

  /// The claims, if one of the keys has signed them and they state what is expected.
  public func verified(
    by keys: JSONWebKeySet, _ expected: Expectation, now: WallTime
  ) throws(IDTokenFault) -> JSONObject {
    guard let key = keys.key(of: self) else { throw .unknownKey }
    guard PublicKey.isValidJOSE(signature, for: signed, key: key.der, algorithm) else {
      throw .signature
    }
    guard claims.text("iss") == expected.issuer else { throw .issuer }
    try checkAudience(expected)
    try checkTimes(now)
    guard claims.text("nonce") == expected.nonce else { throw .nonce }
    // §2: at most 255 ASCII characters.
    guard let subject = claims.text("sub"), 1...255 ~= subject.utf8.count,
      subject.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
    else { throw .subject }
    if let context = expected.context, claims.text("acr") != context { throw .context }
    if let method = expected.method, claims.texts("amr")?.contains(method) != true {
      throw .method
    }
    return claims
  }

  /// Steps 3 to 5: with several audiences the token must name this client as its party.
  private func checkAudience(_ expected: Expectation) throws(IDTokenFault) {
    guard let audiences = claims.texts("aud"), audiences.contains(expected.clientID) else {
      throw .audience
    }
    let isNamed = claims.members["azp"] != nil
    guard isNamed || audiences.count == 1 else { throw .authorizedParty }
    guard !isNamed || claims.text("azp") == expected.clientID else { throw .authorizedParty }
  }

  private func checkTimes(_ now: WallTime) throws(IDTokenFault) {
    let now = Double(now.microseconds) / 1_000_000
    guard let expiry = claims.seconds("exp"), expiry > now - IDToken.skewSeconds else {
      throw .expired
    }
    guard let issued = claims.seconds("iat"), issued < now + IDToken.skewSeconds else {
      throw .future
    }
    if claims.members["nbf"] != nil {
      guard let begin = claims.seconds("nbf"), begin < now + IDToken.skewSeconds else {
        throw .future
      }
    }
  }
}

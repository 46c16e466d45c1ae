/// The requests to identity providers: discovery, code for tokens, keys, and the claims that the ID
/// token lacks. Each blocks its thread, and so must not run on an event loop.
///
/// A provider's address is chosen by a tenant. So every connection passes the guard of webhooks,
/// redirects are not followed, and answers are bounded in bytes and time.
import HTTPClient
import JSON
import Kernel
public import Primitives
public import Webhooks

/// A person as a provider describes them.
public struct IdentityClaims: Sendable, Equatable {
  public var subject: String
  public var email: String?
  /// Only if the provider states that the address is verified.
  public var isEmailVerified: Bool
  public var name: String?
  public var groups: [String]
}

public enum SignInFault: Error, Sendable, Equatable {
  case provider(ProviderFault)
  case token(IDTokenFault)
}

/// A client that is registered at a provider.
public struct Registration: Sendable {
  public var issuer: String
  public var clientID: String
  public var secret: String

  public init(issuer: String, clientID: String, secret: String) {
    self.issuer = issuer
    self.clientID = clientID
    self.secret = secret
  }
}

/// A code, and what its exchange needs.
public struct Grant: Sendable {
  public var code: String
  /// Whether the answer with the code names the issuer (RFC 9207 §2).
  public var namesIssuer: Bool
  public var verifier: String
  public var redirectURI: String

  public init(code: String, namesIssuer: Bool, verifier: String, redirectURI: String) {
    self.code = code
    self.namesIssuer = namesIssuer
    self.verifier = verifier
    self.redirectURI = redirectURI
  }
}

public final class ProviderClient: Sendable {
  /// Bytes of one answer.
  public static let answerBytesMax = 262_144
  /// The time for one request, and for all of a sign-in.
  static let requestMilliseconds: Int64 = 5_000
  static let signInMilliseconds: Int64 = 12_000
  /// Groups of one person.
  static let groupsMax = 1_000

  private let addressGuard: AddressGuard
  private let cache = ProviderCache()

  public init(_ addressGuard: AddressGuard) { self.addressGuard = addressGuard }

  /// The provider's document, from memory if it is fresh.
  public func document(
    of issuer: String, now: WallTime
  ) throws(ProviderFault) -> ProviderDocument {
    try document(of: issuer, now: now, until: deadline())
  }

  /// Exchanges the code, and verifies the token.
  ///
  /// - Parameter groupsClaim: the name of the claim with the groups; empty: none is read.
  public func claims(
    for grant: Grant, by client: Registration, _ expected: IDToken.Expectation,
    groupsClaim: String, now: WallTime
  ) throws(SignInFault) -> IdentityClaims {
    let limit = deadline()
    let document: ProviderDocument
    let tokens: JSONObject
    do throws(ProviderFault) {
      document = try self.document(of: client.issuer, now: now, until: limit)
      guard grant.namesIssuer || !document.namesIssuer else {
        throw .malformed("its answer does not name its issuer")
      }
      tokens = try exchange(grant, client, document, until: limit)
    } catch {
      throw .provider(error)
    }
    guard let text = tokens.text("id_token") else {
      throw .provider(.malformed("the token endpoint returned no id_token"))
    }
    let claims = try verified(text, document, expected, now: now, until: limit)
    let more = try furtherClaims(
      claims, document, tokens.text("access_token"), groupsClaim, until: limit)
    return ProviderClient.read(claims, more, groupsClaim)
  }

  // MARK: Steps

  private func document(
    of issuer: String, now: WallTime, until limit: Instant
  ) throws(ProviderFault) -> ProviderDocument {
    if let known = cache.document(of: issuer, now: now) { return known }
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    let body = try answer(
      HTTPRequest(
        url: base + "/.well-known/openid-configuration", headers: ["Accept: application/json"],
        body: nil, milliseconds: 0), at: "its discovery address", until: limit)
    let document = try ProviderDocument(body, issuer: issuer, under: addressGuard)
    cache.put(document, now: now)
    return document
  }

  /// RFC 6749 §4.1.3, with the verifier of RFC 7636 §4.5.
  private func exchange(
    _ grant: Grant, _ client: Registration, _ document: ProviderDocument, until limit: Instant
  ) throws(ProviderFault) -> JSONObject {
    var parameters = [
      (name: "grant_type", value: "authorization_code"), ("code", grant.code),
      ("redirect_uri", grant.redirectURI), ("code_verifier", grant.verifier),
    ]
    var headers = [
      "Accept: application/json", "Content-Type: application/x-www-form-urlencoded",
    ]
    if document.sendsSecretInBody {
      parameters += [("client_id", client.clientID), ("client_secret", client.secret)]
    } else {
      // §2.3.1: both are encoded as in a form first.
      var pair: [UInt8] = []
      Base64.standard.append(
        Array("\(client.clientID.percentEncoded()):\(client.secret.percentEncoded())".utf8),
        padded: true, to: &pair)
      headers.append("Authorization: Basic \(String(decoding: pair, as: UTF8.self))")
    }
    let request = HTTPRequest(
      url: document.tokenEndpoint, headers: headers, body: Array(form(parameters).utf8),
      milliseconds: 0)
    let (status, body) = try send(request, until: limit)
    guard status == 200 else {
      guard (400..<500).contains(status), let object = try? JSONObject(body),
        let code = object.text("error"), code.utf8.count <= 64,
        code.utf8.allSatisfy({ $0.isLowercaseASCIILetter || $0 == UInt8(ascii: "_") })
      else { throw .status(status, of: "its token endpoint") }
      throw .codeRefused(code)
    }
    return try ProviderFault.object(body, "the answer of the token endpoint")
  }

  private func verified(
    _ text: String, _ document: ProviderDocument, _ expected: IDToken.Expectation,
    now: WallTime, until limit: Instant
  ) throws(SignInFault) -> JSONObject {
    let token: IDToken
    do throws(IDTokenFault) { token = try IDToken(text) } catch { throw .token(error) }
    var keys = cache.keys(of: document.issuer)
    if keys?.key(of: token) == nil {
      // There are no keys in memory, or the provider has rotated them.
      do throws(ProviderFault) {
        keys = try requestedKeys(document, now: now, until: limit) ?? keys
      } catch {
        throw .provider(error)
      }
    }
    guard let keys else { throw .token(.unknownKey) }
    do throws(IDTokenFault) {
      return try token.verified(by: keys, expected, now: now)
    } catch {
      throw .token(error)
    }
  }

  /// Nil if they were requested a short time ago.
  private func requestedKeys(
    _ document: ProviderDocument, now: WallTime, until limit: Instant
  ) throws(ProviderFault) -> JSONWebKeySet? {
    guard cache.mayRequestKeys(of: document.issuer, now: now) else { return nil }
    let body = try answer(
      HTTPRequest(
        url: document.keysAddress, headers: ["Accept: application/json"], body: nil,
        milliseconds: 0), at: "the address of its keys", until: limit)
    let keys = try JSONWebKeySet(body)
    cache.put(keys, of: document.issuer)
    return keys
  }

  /// The claims of the UserInfo endpoint, if the token lacks some (OpenID Connect Core §5.4: there
  /// providers return those of a scope). They must be of the same person (§5.3.2).
  private func furtherClaims(
    _ claims: JSONObject, _ document: ProviderDocument, _ accessToken: String?,
    _ groupsClaim: String, until limit: Instant
  ) throws(SignInFault) -> JSONObject {
    let isComplete =
      claims.member("email") != nil && (groupsClaim.isEmpty || claims.member(groupsClaim) != nil)
    guard !isComplete, let address = document.userInfoEndpoint, let accessToken,
      accessToken.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else { return JSONObject() }
    do throws(ProviderFault) {
      let body = try answer(
        HTTPRequest(
          url: address,
          headers: ["Accept: application/json", "Authorization: Bearer \(accessToken)"],
          body: nil, milliseconds: 0), at: "its UserInfo endpoint", until: limit)
      let more = try ProviderFault.object(body, "the answer of the UserInfo endpoint")
      guard more.text("sub") == claims.text("sub") else {
        throw .malformed("the UserInfo endpoint describes another person")
      }
      return more
    } catch {
      throw .provider(error)
    }
  }

  /// A claim of the token counts before one of the UserInfo endpoint. An address and the statement
  /// that it is verified come from the same place.
  private static func read(
    _ claims: JSONObject, _ more: JSONObject, _ groupsClaim: String
  ) -> IdentityClaims {
    let place = claims.text("email") == nil ? more : claims
    let groups = groupsClaim.isEmpty ? [] : claims.texts(groupsClaim) ?? more.texts(groupsClaim)
    return IdentityClaims(
      subject: claims.text("sub") ?? "", email: place.text("email"),
      isEmailVerified: place.isTrue("email_verified"),
      name: claims.text("name") ?? more.text("name") ?? claims.text("preferred_username")
        ?? more.text("preferred_username"),
      groups: Array((groups ?? []).prefix(groupsMax)))
  }

  // MARK: Requests

  private func deadline() -> Instant {
    SystemClock.now().advanced(byMilliseconds: ProviderClient.signInMilliseconds)
  }

  private func answer(
    _ request: HTTPRequest, at place: String, until limit: Instant
  ) throws(ProviderFault) -> [UInt8] {
    let (status, body) = try send(request, until: limit)
    guard status == 200 else { throw .status(status, of: place) }
    return body
  }

  private func send(
    _ request: HTTPRequest, until limit: Instant
  ) throws(ProviderFault) -> (status: Int, body: [UInt8]) {
    let left = limit.milliseconds(since: SystemClock.now())
    guard left > 0 else { throw .unreachable("its answers took too long") }
    guard ProviderDocument.isAllowed(request.url, under: addressGuard) else {
      throw .unreachable("this gateway may not use its address")
    }
    var request = request
    request.milliseconds = Int(min(left, ProviderClient.requestMilliseconds))
    request.responseBytesMax = ProviderClient.answerBytesMax
    request.headers.append("User-Agent: Chirrup")
    let addressGuard = addressGuard
    switch HTTPClient.outcome(of: request, admits: { addressGuard.admits($0) }) {
    case .answered(let status, let body, _): return (status, body)
    case .refused: throw .unreachable("its address is not public")
    case .failed(let reason): throw .unreachable(reason)
    }
  }
}

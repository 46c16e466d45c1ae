/// The request with which a browser goes to the identity provider (OpenID Connect Core §3.1.2.1),
/// with a proof key for the code (RFC 7636).
import OpenSSL
import Primitives

public struct AuthorizationRequest: Sendable {
  public var clientID: String
  public var redirectURI: String
  public var state: String
  public var nonce: String
  public var verifier: String
  /// Further scopes than `openid email profile`, space-separated.
  public var scopes: String
  /// The demanded authentication context; nil: none.
  public var context: String?

  public init(
    clientID: String, redirectURI: String, state: String, nonce: String, verifier: String,
    scopes: String, context: String?
  ) {
    self.clientID = clientID
    self.redirectURI = redirectURI
    self.state = state
    self.nonce = nonce
    self.verifier = verifier
    self.scopes = scopes
    self.context = context
  }

  public func url(at endpoint: String) -> String {
    let challenge = Base64.url.encode(SHA256.digest(Array(verifier.utf8)))
    var parameters = [
      ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirectURI),
      ("scope", scopes.isEmpty ? "openid email profile" : "openid email profile \(scopes)"),
      ("state", state), ("nonce", nonce), ("code_challenge", challenge),
      ("code_challenge_method", "S256"),
    ]
    if let context { parameters.append(("acr_values", context)) }
    return endpoint + (endpoint.contains("?") ? "&" : "?") + form(parameters)
  }
}

/// application/x-www-form-urlencoded, with %20 for a blank, which all parsers accept.
func form(_ parameters: [(name: String, value: String)]) -> String {
  parameters.map { "\($0.name)=\($0.value.percentEncoded())" }.joined(separator: "&")
}

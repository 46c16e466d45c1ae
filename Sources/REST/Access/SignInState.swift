/// The state of a sign-in with an identity provider, as the browser carries it from the first
/// request to the last: in a cookie, encrypted and signed by the gateway (AES-GCM), so that nothing
/// is stored for requests of strangers.
///
/// The provider's answer names the state, and the cookie holds it: so an answer is accepted only
/// from the browser that began (RFC 9700 §4.7). The console itself sends the answer, so the cookie
/// is `SameSite=Strict`.
import Directory
import JSON
import OpenSSL
import Primitives
import Wire

struct SignInState: Equatable {
  static let cookieName = "chirrup_sign_in"
  static let path = "\(API.authPath)/provider"
  /// The time at the provider.
  static let seconds: Int64 = 600
  private static let place = "sign-in"

  var workspace: Identifier
  /// The provider at the beginning: the answer of another one is refused (RFC 9207 §1).
  var issuer: String
  var clientID: String
  var redirectURI: String
  var state: String
  var nonce: String
  var verifier: String
  var expiresAt: WallTime

  init(_ provider: IdentityProvider, redirectURI: String, now: WallTime) {
    workspace = provider.workspace
    issuer = provider.issuer
    clientID = provider.clientID
    self.redirectURI = redirectURI
    state = SecureRandom.token()
    nonce = SecureRandom.token()
    verifier = SecureRandom.token()
    expiresAt = now.advanced(bySeconds: SignInState.seconds)
  }

  /// Used up with the first answer that names it.
  var digest: [UInt8] { SHA256.digest(Array(state.utf8)) }

  func cookie(_ secrets: SecretBox, isSecure: Bool) -> String {
    let text = [UInt8].object { json in
      json.appendMember("workspace", workspace)
      json.appendMember("issuer", issuer)
      json.appendMember("client", clientID)
      json.appendMember("redirect", redirectURI)
      json.appendMember("state", state)
      json.appendMember("nonce", nonce)
      json.appendMember("verifier", verifier)
      json.appendMember("expires", expiresAt.microseconds)
    }
    let sealed = secrets.seal(text, place: SignInState.place)
    return SignInState.header(
      "\(sealed.keyID).\(Base64.url.encode(sealed.bytes))", seconds: SignInState.seconds,
      isSecure: isSecure)
  }

  static func header(_ value: String, seconds: Int64, isSecure: Bool) -> String {
    "\(cookieName)=\(value); Path=\(path); HttpOnly; SameSite=Strict; Max-Age=\(seconds)"
      + (isSecure ? "; Secure" : "")
  }

  /// Nil if the request has none of this gateway's, or it has expired.
  init?(_ request: APIRequest, _ secrets: SecretBox) {
    let cookie = request.headerValues("Cookie").lazy
      .compactMap { RequestHead.cookie(SignInState.cookieName, in: $0) }.first
    guard let cookie, cookie.utf8.count <= APILimits.signInCookieBytes else { return nil }
    let parts = cookie.split(separator: ".")
    guard parts.count == 2, let bytes = Base64.url.decode(parts[1].utf8),
      let opened = secrets.open(
        SecretBox.Sealed(keyID: String(parts[0]), bytes: bytes), place: SignInState.place),
      let object = try? JSONObject(opened),
      let workspace = try? object.identifier("workspace"),
      let issuer = try? object.string("issuer", bytesMax: opened.count),
      let clientID = try? object.string("client", bytesMax: opened.count),
      let redirectURI = try? object.string("redirect", bytesMax: opened.count),
      let state = try? object.string("state", bytesMax: opened.count),
      let nonce = try? object.string("nonce", bytesMax: opened.count),
      let verifier = try? object.string("verifier", bytesMax: opened.count),
      let expiry = try? object.int("expires", in: 0...Int64.max),
      expiry > request.now.microseconds
    else { return nil }
    self.workspace = workspace
    self.issuer = issuer
    self.clientID = clientID
    self.redirectURI = redirectURI
    self.state = state
    self.nonce = nonce
    self.verifier = verifier
    expiresAt = WallTime(microseconds: expiry)
  }
}

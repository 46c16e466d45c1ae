import Primitives
import Testing
import Webhooks

@testable import OpenID

@Suite struct ProviderDocumentTests {
  private static let issuer = "https://login.example.com"

  private func document(
    _ changes: [String: String?] = [:], issuer: String = issuer, isPrivate: Bool = false
  ) throws(ProviderFault) -> ProviderDocument {
    var members: [String: String?] = [
      "issuer": #""https://login.example.com""#,
      "authorization_endpoint": #""https://login.example.com/authorize?tenant=1""#,
      "token_endpoint": #""https://login.example.com/token""#,
      "jwks_uri": #""https://login.example.com/keys""#,
    ]
    for (name, text) in changes { members[name] = text }
    let texts = members.compactMap { name, text in text.map { #""\#(name)":\#($0)"# } }
    let text = "{" + texts.joined(separator: ",") + "}"
    return try ProviderDocument(
      Array(text.utf8), issuer: issuer, under: AddressGuard(allowsPrivate: isPrivate))
  }

  @Test("a document is read")
  func reading() throws {
    let plain = try document()
    #expect(!plain.sendsSecretInBody && !plain.namesIssuer && plain.userInfoEndpoint == nil)
    let other = try document([
      "token_endpoint_auth_methods_supported": #"["client_secret_post"]"#,
      "authorization_response_iss_parameter_supported": "true",
      "userinfo_endpoint": #""https://login.example.com/me""#,
      "code_challenge_methods_supported": #"["plain","S256"]"#,
    ])
    #expect(other.sendsSecretInBody && other.namesIssuer && other.userInfoEndpoint != nil)
  }

  @Test(
    "documents that are refused",
    arguments: [
      ["issuer": #""https://login.example.com/""#], ["issuer": nil], ["token_endpoint": nil],
      ["authorization_endpoint": #""javascript:alert(1)""#],
      ["jwks_uri": #""http://example.com/""#],
      ["token_endpoint": #""https://127.0.0.1/token""#],
      ["token_endpoint": #""https://169.254.169.254/token""#],
      ["userinfo_endpoint": #""https://user:x@login.example.com/""#],
      ["code_challenge_methods_supported": #"["plain"]"#],
      ["token_endpoint_auth_methods_supported": #"["private_key_jwt"]"#],
    ] as [[String: String?]])
  func refused(changes: [String: String?]) {
    #expect(throws: ProviderFault.self) { try document(changes) }
  }

  @Test("a provider in a private network only if the administrator allows it")
  func privateNetworks() {
    let changes = ["token_endpoint": #""http://127.0.0.1:8080/token""#]
    #expect(throws: ProviderFault.self) { try document(changes) }
    #expect(throws: Never.self) { try document(changes, isPrivate: true) }
    #expect(throws: ProviderFault.self) {
      try document(["token_endpoint": #""http://169.254.169.254/""#], isPrivate: true)
    }
  }

  @Test("the address for the browser has the challenge of RFC 7636 §B")
  func authorization() {
    let request = AuthorizationRequest(
      clientID: "a b", redirectURI: "https://chat.example.com/console", state: "s", nonce: "n",
      verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", scopes: "groups",
      context: "urn:strong")
    #expect(
      request.url(at: "https://login.example.com/authorize?tenant=1")
        == "https://login.example.com/authorize?tenant=1&response_type=code&client_id=a%20b"
        + "&redirect_uri=https%3a%2f%2fchat.example.com%2fconsole"
        + "&scope=openid%20email%20profile%20groups&state=s&nonce=n"
        + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        + "&code_challenge_method=S256&acr_values=urn%3astrong")
  }
}

@Suite struct ProviderCacheTests {
  private let now = WallTime(microseconds: 1_800_000_000_000_000)
  private let issuer = "https://login.example.com"

  private func later(_ seconds: Int64) -> WallTime {
    WallTime(microseconds: now.microseconds + seconds * 1_000_000)
  }

  private func document(of issuer: String) throws -> ProviderDocument {
    let text = """
      {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/a","token_endpoint":"\(issuer)/t",
      "jwks_uri":"\(issuer)/k"}
      """
    return try ProviderDocument(Array(text.utf8), issuer: issuer, under: AddressGuard())
  }

  @Test("keys are requested again at most once a minute, and forgotten after an hour")
  func rotation() throws {
    let cache = ProviderCache()
    cache.put(try document(of: issuer), now: now)
    #expect(cache.mayRequestKeys(of: issuer, now: now))
    cache.put(try JSONWebKeySet(Array(#"{"keys":[]}"#.utf8)), of: issuer)
    #expect(!cache.mayRequestKeys(of: issuer, now: later(59)))
    #expect(cache.mayRequestKeys(of: issuer, now: later(60)))
    #expect(!cache.mayRequestKeys(of: issuer, now: later(119)))
    let expired = later(ProviderCache.seconds)
    #expect(cache.document(of: issuer, now: later(3_599)) != nil)
    #expect(cache.document(of: issuer, now: expired) == nil)
    cache.put(try document(of: issuer), now: expired)
    #expect(cache.keys(of: issuer) == nil)
  }

  @Test("the cache has a bound")
  func bound() throws {
    let cache = ProviderCache()
    for index in 0...ProviderCache.issuersMax {
      cache.put(
        try document(of: "https://p\(index).example.com"),
        now: later(Int64(index)))
    }
    #expect(cache.document(of: "https://p0.example.com", now: now) == nil)
    #expect(cache.document(of: "https://p1.example.com", now: now) != nil)
  }
}

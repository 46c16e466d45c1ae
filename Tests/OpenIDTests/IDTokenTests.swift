import OpenSSL
import Primitives
import Testing

@testable import OpenID

/// One token and what must become of it; nil: it is accepted.
private struct Attempt: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var token: String
  var fault: IDTokenFault?
}

private let now = WallTime(microseconds: 1_800_000_000_000_000)
private let issuer = "https://login.example.com/tenant"
private let rs256 = #"{"alg":"RS256","kid":"r1","typ":"JWT"}"#
private let es256 = #"{"alg":"ES256","kid":"e1"}"#

private let keys = try? JSONWebKeySet(
  Array(
    """
    {"keys":[\(Signer.rsa.key("r1", #","use":"sig","alg":"RS256""#)),\(Signer.ec.key("e1")),
    {"kty":"oct","kid":"h1","k":"c2VjcmV0"},{"kty":"OKP","crv":"Ed25519","kid":"o1","x":"AAAA"},
    \(Signer.otherRSA.key("enc", #","use":"enc""#))]}
    """.utf8))

/// Valid claims, with members replaced, or left out where the text is nil.
private func claims(_ changes: [String: String?] = [:]) -> String {
  var members: [String: String?] = [
    "iss": #""\#(issuer)""#, "aud": #""chirrup""#, "sub": #""person-1""#, "nonce": #""n-1""#,
    "exp": "1800000300", "iat": "1799999990", "acr": #""urn:strong""#, "amr": #"["pwd","mfa"]"#,
  ]
  for (name, text) in changes { members[name] = text }
  let texts = members.compactMap { name, text in text.map { #""\#(name)":\#($0)"# } }
  return "{" + texts.sorted().joined(separator: ",") + "}"
}

private func signed(
  _ name: String, _ changes: [String: String?] = [:], _ fault: IDTokenFault? = nil
) -> Attempt {
  Attempt(testDescription: name, token: Signer.rsa.token(rs256, claims(changes)), fault: fault)
}

private func forged(_ name: String, _ token: String, _ fault: IDTokenFault?) -> Attempt {
  Attempt(testDescription: name, token: token, fault: fault)
}

/// The signature of HS256 with a text as the key: the public key in the confusion attack (RFC 8725
/// §2.1).
private func hs256(_ key: String) -> String {
  let text = Signer.text(#"{"alg":"HS256","kid":"r1"}"#) + "." + Signer.text(claims())
  let code = HMACSHA256.code(for: Array(text.utf8), key: Array(key.utf8))
  return text + "." + Base64.url.encode(code)
}

private let attempts: [Attempt] = [
  signed("RS256"),
  forged("ES256", Signer.ec.token(es256, claims()), nil),
  signed("several audiences with azp", ["aud": #"["x","chirrup"]"#, "azp": #""chirrup""#]),
  signed("an audience in an array", ["aud": #"["chirrup"]"#]),
  signed("expired within the skew", ["exp": "1799999941"]),
  signed("times as fractions", ["exp": "1800000300.5", "iat": "1.79999999e9"]),
  forged(
    "alg none", Signer.text(#"{"alg":"none"}"#) + "." + Signer.text(claims()) + ".", .algorithm),
  forged("HS256 with the public key", hs256(Signer.rsa.members), .algorithm),
  forged("HS256 with the client's secret", hs256("secret"), .algorithm),
  forged("RS512", Signer.rsa.token(#"{"alg":"RS512","kid":"r1"}"#, claims()), .algorithm),
  forged("no alg", Signer.rsa.token(#"{"kid":"r1"}"#, claims()), .algorithm),
  forged(
    "a critical extension",
    Signer.rsa.token(#"{"alg":"RS256","kid":"r1","crit":["b64"],"b64":false}"#, claims()),
    .malformed),
  forged(
    "a kid that is no text", Signer.rsa.token(#"{"alg":"RS256","kid":1}"#, claims()), .malformed),
  forged("an unknown kid", Signer.rsa.token(#"{"alg":"RS256","kid":"r2"}"#, claims()), .unknownKey),
  forged(
    "the kid of a key for ES256", Signer.rsa.token(#"{"alg":"RS256","kid":"e1"}"#, claims()),
    .unknownKey),
  forged(
    "a key for encryption", Signer.otherRSA.token(#"{"alg":"RS256","kid":"enc"}"#, claims()),
    .unknownKey),
  forged("no kid, one key", Signer.rsa.token(#"{"alg":"RS256"}"#, claims()), nil),
  forged("another key", Signer.otherRSA.token(rs256, claims()), .signature),
  forged("ES256 in DER", Signer.ec.token(es256, claims(), inDER: true), .signature),
  forged(
    "other claims than were signed",
    {
      let parts = Signer.rsa.token(rs256, claims()).split(separator: ".")
      return "\(parts[0]).\(Signer.text(claims(["sub": #""admin""#]))).\(parts[2])"
    }(), .signature),
  forged(
    "no signature",
    Signer.rsa.token(rs256, claims()).split(separator: ".").dropLast().joined(separator: ".") + ".",
    .signature),
  forged("two parts", "a.b", .malformed),
  forged("five parts, encrypted", "a.b.c.d.e", .malformed),
  forged("too long", String(repeating: "a", count: IDToken.bytesMax + 1), .tooLong),
  signed("another issuer", ["iss": #""https://login.example.com/other""#], .issuer),
  signed("an issuer with a slash", ["iss": #""\#(issuer)/""#], .issuer),
  signed("no issuer", ["iss": nil], .issuer),
  signed("another audience", ["aud": #""chirrup2""#], .audience),
  signed("an audience that is a part", ["aud": #""chirru""#], .audience),
  signed("an audience of another type", ["aud": #"["chirrup",1]"#], .audience),
  signed("no audience", ["aud": nil], .audience),
  signed("several audiences without azp", ["aud": #"["x","chirrup"]"#], .authorizedParty),
  signed("the azp of another client", ["azp": #""x""#], .authorizedParty),
  signed("an azp that is no text", ["azp": "null"], .authorizedParty),
  signed("expired", ["exp": "1799999939"], .expired),
  signed("no exp", ["exp": nil], .expired),
  signed("exp as a text", ["exp": #""1800000300""#], .expired),
  signed("exp beyond all numbers", ["exp": "1e999"], .expired),
  signed("issued in the future", ["iat": "1800000061"], .future),
  signed("no iat", ["iat": nil], .future),
  signed("not valid yet", ["nbf": "1800000061"], .future),
  signed("another nonce", ["nonce": #""n-2""#], .nonce),
  signed("no nonce", ["nonce": nil], .nonce),
  signed("no subject", ["sub": nil], .subject),
  signed("an empty subject", ["sub": #""""#], .subject),
  signed(
    "a subject of 256 characters", ["sub": "\"\(String(repeating: "a", count: 256))\""], .subject),
  signed("a subject with a line feed", ["sub": #""a\nb""#], .subject),
  signed("a weaker acr", ["acr": #""urn:weak""#], .context),
  signed("no acr", ["acr": nil], .context),
  signed("amr without the method", ["amr": #"["pwd"]"#], .method),
  signed("no amr", ["amr": nil], .method),
]

@Suite struct IDTokenTests {
  @Test("ID tokens (OpenID Connect Core §3.1.3.7)", arguments: attempts)
  fileprivate func table(_ attempt: Attempt) throws {
    let keys = try #require(keys)
    let expected = IDToken.Expectation(
      issuer: issuer, clientID: "chirrup", nonce: "n-1", context: "urn:strong", method: "mfa")
    do throws(IDTokenFault) {
      let found = try IDToken(attempt.token).verified(by: keys, expected, now: now)
      #expect(attempt.fault == nil && found.text("sub") == "person-1")
    } catch {
      #expect(error == attempt.fault)
    }
  }

  @Test("every fault has a row")
  func faults() {
    #expect(Set(attempts.compactMap(\.fault)) == Set(IDTokenFault.allCases))
  }

  @Test("without a demand, acr and amr are not looked at")
  func anyContext() throws {
    let keys = try #require(keys)
    let token = Signer.rsa.token(rs256, claims(["acr": nil, "amr": nil]))
    let expected = IDToken.Expectation(issuer: issuer, clientID: "chirrup", nonce: "n-1")
    #expect(try IDToken(token).verified(by: keys, expected, now: now).text("sub") == "person-1")
  }

  @Test("a token without kid is refused if several keys fit (OpenID Connect Core §10.1)")
  func ambiguous() throws {
    let both = try JSONWebKeySet(
      Array(#"{"keys":[\#(Signer.rsa.key("a")),\#(Signer.otherRSA.key("b"))]}"#.utf8))
    let expected = IDToken.Expectation(issuer: issuer, clientID: "chirrup", nonce: "n-1")
    let token = try IDToken(Signer.rsa.token(#"{"alg":"RS256"}"#, claims()))
    #expect(throws: IDTokenFault.unknownKey) {
      try token.verified(by: both, expected, now: now)
    }
  }
}

@Suite struct JSONWebKeySetTests {
  @Test("only usable keys for signatures remain")
  func filtering() throws {
    let found = try #require(keys).keys
    #expect(found.map(\.id) == ["r1", "e1"] && found.map(\.algorithm) == [.rs256, .es256])
  }

  @Test(
    "keys that are none are left out",
    arguments: [
      #"{"kty":"EC","crv":"P-256","x":"\#(zeros)","y":"\#(zeros)"}"#,  // not on the curve
      #"{"kty":"EC","crv":"P-384","x":"\#(zeros)","y":"\#(zeros)"}"#,
      #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#,  // 17 bits
      #"{"kty":"RSA","n":"","e":""}"#, #"{"kty":"RSA"}"#, "{}", "1", #""x""#,
      #"{"kty":"RSA","alg":"PS256","n":"AQAB","e":"AQAB"}"#,
    ])
  func unusable(key: String) throws {
    #expect(try JSONWebKeySet(Array(#"{"keys":[\#(key)]}"#.utf8)).keys.isEmpty)
  }

  @Test("more keys than the limit, and texts that are no sets, are refused")
  func refused() {
    let many = Array(repeating: "{}", count: JSONWebKeySet.keysMax + 1).joined(separator: ",")
    for text in [#"{"keys":[\#(many)]}"#, "{}", #"{"keys":{}}"#, "[]", "", "{"] {
      #expect(throws: ProviderFault.self) { try JSONWebKeySet(Array(text.utf8)) }
    }
  }
}

private let zeros = Base64.url.encode(Array(repeating: 0, count: 32))

/// Tokens: issued ones verify, and no others (RFC 8725, JWT best current practices).
import OpenSSL
import Primitives
import Testing

@testable import Tokens

@Suite struct TokenAuthorityTests {
  static let now = WallTime(microseconds: 1_795_273_387_042_000)
  static let secret = Array("0123456789abcdef0123456789abcdef".utf8)
  static let visitor = Principal.visitor(
    id: Identifier(high: 1, low: 2), workspace: Identifier(high: 3, low: 4),
    sessions: [Identifier(high: 5, low: 6), Identifier(high: 7, low: 8)], name: "มานี 🐦")
  static let agent = Principal.operator(
    id: Identifier(high: 1, low: 2), workspace: Identifier(high: 3, low: 4), name: "Ada",
    role: "admin")

  let now = TokenAuthorityTests.now

  @Test("issued tokens verify until they expire", arguments: [visitor, agent])
  func roundTrip(principal: Principal) throws {
    let authority = TokenAuthority(secret: Self.secret)
    let issued = try authority.issue(principal, lifetimeSeconds: 900, now: now)
    let verified = try authority.verify(Array(issued.token.utf8), now: now)
    #expect(verified.principal == principal)
    #expect(verified.expiresAt == issued.expiresAt)
    #expect(issued.expiresAt.description == "2026-11-21T15:18:07.000Z")
    let last = WallTime(microseconds: issued.expiresAt.microseconds - 1)
    #expect(throws: Never.self) { try authority.verify(Array(issued.token.utf8), now: last) }
    #expect(throws: TokenFault.expired) {
      try authority.verify(Array(issued.token.utf8), now: issued.expiresAt)
    }
  }

  @Test("a token is a JWT that others can verify: HMAC-SHA-256 over its first two parts")
  func interoperable() throws {
    let authority = TokenAuthority(secret: Self.secret)
    let token = try authority.issue(Self.visitor, lifetimeSeconds: 900, now: now).token
    let parts = token.split(separator: ".")
    let signature = try #require(Base64.url.decode(parts[2].utf8))
    #expect(
      HMACSHA256.isValid(signature, for: Array("\(parts[0]).\(parts[1])".utf8), key: Self.secret))
    #expect(!token.contains("="))
  }

  @Test("the example of RFC 7515 §A.1 verifies")
  func publishedExample() throws {
    let key = HMACSHA256Key(
      try #require(
        Base64.url.decode(
          """
          AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow
          """.utf8)))
    let token = [
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9",
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0"
        + "cnVlfQ",
      "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    ].joined(separator: ".")
    let parts = try Array(token.utf8).withRawSpan { (text) throws(TokenFault) in
      try TokenAuthority.authenticated(text, by: key)
    }
    #expect(parts.header == 0..<40)
  }

  @Test("every flipped bit is detected")
  func flippedBits() throws {
    let authority = TokenAuthority(secret: Self.secret)
    let token = Array(
      try authority.issue(Self.visitor, lifetimeSeconds: 900, now: now).token.utf8)
    for index in token.indices {
      for bit in 0..<8 {
        var damaged = token
        damaged[index] ^= 1 << UInt8(bit)
        #expect(throws: TokenFault.self) { try authority.verify(damaged, now: now) }
      }
    }
  }

  @Test("a token of another key is refused")
  func foreignKey() throws {
    let ours = TokenAuthority(secret: Self.secret)
    let theirs = TokenAuthority(secret: SecureRandom.bytes(32))
    let token = try theirs.issue(Self.visitor, lifetimeSeconds: 900, now: now).token
    #expect(throws: TokenFault.badSignature) { try ours.verify(Array(token.utf8), now: now) }
  }

  @Test(
    "an algorithm from the header is never used",
    arguments: [
      #"{"alg":"none","typ":"JWT"}"#, #"{"alg":"HS512","typ":"JWT"}"#, #"{"typ":"JWT"}"#,
      #"{"alg":"RS256","typ":"JWT"}"#, #"{"alg":"HS256","crit":["b64"],"b64":false}"#,
    ])
  func algorithms(header: String) throws {
    let authority = TokenAuthority(secret: Self.secret)
    let signed = token(header: header, claims: Self.claims())
    #expect(throws: TokenFault.unsupportedAlgorithm) { try authority.verify(signed, now: now) }
    // Without any signature, as for "none" (RFC 7519 §6).
    let bare = signed[...(signed.lastIndex(of: UInt8(ascii: ".")) ?? 0)]
    #expect(throws: TokenFault.badSignature) { try authority.verify(Array(bare), now: now) }
  }

  @Test(
    "only valid claims of the gateway are accepted",
    arguments: [
      ("{}", TokenFault.malformed),
      ("[]", .malformed),
      ("\u{0}", .malformed),
      (claims(iss: "other"), .wrongIssuer),
      (claims(aud: "chirrup:root"), .wrongAudience),
      (claims(sub: "1"), .malformed),
      (claims(ses: #"["1"]"#), .malformed),
      (claims(ses: "null"), .malformed),
      (claims(exp: "0"), .expired),
      (claims(exp: "-9223372036854775808"), .expired),
      (claims(exp: "9223372036854775807"), .expired),
      (claims(exp: "1e400"), .malformed),
      (claims(exp: #"9000000000,"nbf":8999999999"#), .notYetValid),
      (claims() + "x", .malformed),
      (claims(exp: "1795280000,"), .malformed),
      (claims(exp: "1795280000.5"), .malformed),
      (claims(exp: #""1795280000""#), .malformed),
      (claims(exp: #"1795280000,"e\u0078p":1"#), .malformed),
      (claims(exp: #"1795280000,"org":1"#), .malformed),
      (claims(exp: #"1795280000,"exp":1"#), .expired),
      (claims(aud: "chirrup:operator"), .malformed),
      (claims(iss: "chirru\\u0000"), .malformed),
    ])
  func foreignClaims(claims: String, fault: TokenFault) throws {
    let authority = TokenAuthority(secret: Self.secret)
    let signed = token(header: #"{"alg":"HS256","typ":"JWT"}"#, claims: claims)
    #expect(throws: fault) { try authority.verify(signed, now: now) }
  }

  @Test("other libraries' JSON is accepted: blanks, escapes, unknown claims, null")
  func otherWriters() throws {
    let authority = TokenAuthority(secret: Self.secret)
    let claims = """
       { "name" : "\\u0e01\\ud83d\\ude00" , "iss":"chirrup", "aud":"chirrup:visitor",
        "x":{"y":[1,{}]},
        "sub":"\(Identifier.zero)","iat":1,"exp":1795280000,"nbf":null,"org":null,
        "wsp":"\(Identifier.zero)","ses":[ "\(Identifier.zero)" , "\(Identifier.zero)" ]}
      """
    let signed = token(
      header: #"{"typ":"JWT","kid":"1","crit":null,"alg":"HS256"}"#, claims: claims)
    let verified = try authority.verify(signed, now: now)
    #expect(
      verified.principal
        == .visitor(id: .zero, workspace: .zero, sessions: [.zero, .zero], name: "ก😀"))
    #expect(verified.binding == TokenBinding())
  }

  @Test("a name that is no string is refused")
  func brokenText() throws {
    let authority = TokenAuthority(secret: Self.secret)
    var claims = Array(Self.claims().utf8)
    let place = try #require(claims.lastIndex(of: UInt8(ascii: "\"")))
    claims.insert(0xFF, at: place)
    let signed = token(header: Array(#"{"alg":"HS256"}"#.utf8), claims: claims)
    #expect(throws: TokenFault.malformed) { try authority.verify(signed, now: now) }
  }

  @Test(
    "malformed tokens",
    arguments: ["", ".", "..", "...", "a.b", "a.b.c.d", "a..c", "ü.b.c", "a.b.c="])
  func malformed(text: String) throws {
    let authority = TokenAuthority(secret: Self.secret)
    #expect(throws: TokenFault.malformed) { try authority.verify(Array(text.utf8), now: now) }
  }

  @Test("tokens are limited to 4 KiB when issued and when verified")
  func size() throws {
    let authority = TokenAuthority(secret: Self.secret)
    let long = [UInt8](repeating: UInt8(ascii: "a"), count: TokenAuthority.tokenBytesMax + 1)
    #expect(throws: TokenFault.tooLarge) { try authority.verify(long, now: now) }
    let sessions = [Identifier](repeating: .zero, count: 100)
    let principal = Principal.visitor(id: .zero, workspace: .zero, sessions: sessions, name: "")
    #expect(throws: TokenFault.tooLarge) {
      try authority.issue(principal, lifetimeSeconds: 900, now: now)
    }
  }

  private func token(header: String, claims: String) -> [UInt8] {
    token(header: Array(header.utf8), claims: Array(claims.utf8))
  }

  private func token(header: [UInt8], claims: [UInt8]) -> [UInt8] {
    let signed = [header, claims].map { Base64.url.encode($0) }.joined(separator: ".")
    let signature = HMACSHA256.code(for: Array(signed.utf8), key: Self.secret)
    return Array("\(signed).\(Base64.url.encode(signature))".utf8)
  }

  private static func claims(
    iss: String = "chirrup", aud: String = "chirrup:visitor",
    sub: String = Identifier.zero.description,
    ses: String = "[]", exp: String = "1795280000"
  ) -> String {
    """
    {"iss":"\(iss)","aud":"\(aud)","sub":"\(sub)","iat":1795270000,"exp":\(exp),
     "wsp":"\(Identifier.zero)","ses":\(ses),"name":""}
    """
  }
}

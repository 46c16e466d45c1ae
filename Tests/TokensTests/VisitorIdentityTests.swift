/// Visitors' identities as signed by a host site (A13, A14).
import OpenSSL
import Primitives
import Testing

@testable import Tokens

@Suite struct VisitorIdentityTests {
  static let secret = Array("is_0123456789abcdef0123456789abcdef".utf8)
  let now = WallTime(microseconds: 1_795_273_387_042_000)
  static let claims =
    #"{"sub":"customer 7","name":"Ada","email":"ada@example.com","exp":1795273400}"#

  static func sign(
    _ claims: String, header: String = #"{"alg":"HS256","typ":"JWT"}"#,
    by secret: [UInt8] = secret
  ) -> String {
    let signed =
      Base64.url.encode(Array(header.utf8)) + "." + Base64.url.encode(Array(claims.utf8))
    let code = HMACSHA256.code(for: Array(signed.utf8), key: secret)
    return signed + "." + Base64.url.encode(code)
  }

  private func read(_ token: String, secret: [UInt8] = secret) throws(TokenFault) -> VisitorIdentity
  {
    try VisitorIdentity(token: Array(token.utf8), secret: secret, now: now)
  }

  @Test("an identity signed with the workspace's secret is accepted until it expires")
  func good() throws {
    let identity = try read(Self.sign(Self.claims))
    #expect(
      identity
        == VisitorIdentity(externalID: "customer 7", name: "Ada", email: "ada@example.com"))
    let late = WallTime(microseconds: 1_795_273_400_000_000)
    #expect(throws: TokenFault.expired) {
      try VisitorIdentity(token: Array(Self.sign(Self.claims).utf8), secret: Self.secret, now: late)
    }
    #expect(try read(Self.sign(#"{"sub":"x","exp":1795273400}"#)).name == nil)
  }

  @Test("a missing, wrong, foreign or truncated signature is refused (A13)")
  func forged() throws {
    let token = Self.sign(Self.claims)
    let parts = token.split(separator: ".").map { String($0) }
    let code = HMACSHA256.code(for: Array("\(parts[0]).\(parts[1])".utf8), key: Self.secret)
    let hexadecimal = code.map { byte in
      let digits = Array("0123456789ABCDEF".utf8)
      return String(decoding: [digits[Int(byte >> 4)], digits[Int(byte & 15)]], as: UTF8.self)
    }.joined()
    let other = Self.sign(#"{"sub":"customer 8","exp":1795273400}"#).split(separator: ".")
    for forged in [
      "", ".", "..", "customer 7", "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).",
      "\(parts[0]).\(parts[1]).\(parts[2].dropLast(4))", "\(token)AAAA", "\(token)=",
      "\(parts[0]).\(parts[1]).\(hexadecimal)", "\(parts[0]).\(other[1]).\(parts[2])",
      Self.sign(Self.claims, by: Array("is_other".utf8)),
      Self.sign(Self.claims, header: #"{"alg":"none"}"#),
      Self.sign(Self.claims, header: #"{"alg":"HS512"}"#),
      Self.sign(Self.claims, header: #"{"alg":"HS256","crit":["b64"]}"#), Self.sign("{}"),
      Self.sign(#"{"sub":"","exp":1795273400}"#), Self.sign(#"{"sub":"x"}"#),
      Self.sign(#"{"sub":7,"exp":1795273400}"#),
      Self.sign(#"{"sub":"x","exp":1795273400,"nbf":1795273399}"#),
      Self.sign(#"{"sub":"a\u0000b","exp":1795273400}"#),
      Self.sign(#"{"sub":"\#(String(repeating: "x", count: 256))","exp":1795273400}"#),
      Self.sign(#"{"sub":"x","name":"\#(String(repeating: "x", count: 201))","exp":1795273400}"#),
      Self.sign(#"{"sub":"x","exp":1795273400,"y":"\#(String(repeating: "x", count: 5_000))"}"#),
    ] {
      #expect(throws: TokenFault.self, "\(forged)") { try read(forged) }
    }
    let bytes = Array(token.utf8)
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 1
      #expect(throws: TokenFault.self) {
        try VisitorIdentity(token: damaged, secret: Self.secret, now: now)
      }
    }
  }

  @Test("a workspace without a secret refuses all, even signatures with an empty key")
  func emptySecret() throws {
    let token = Self.sign(Self.claims, by: [])
    #expect(throws: TokenFault.badSignature) { try read(token, secret: []) }
  }

  /// `constantTimeEquals` is OpenSSL's `CRYPTO_memcmp`; this shows the same for the whole path: the
  /// time does not grow with the number of correct bytes.
  @Test("the time does not reveal how much of a signature is correct (A14)")
  func timing() throws {
    let token = Array(Self.sign(Self.claims).utf8)
    let start = token.count - 43
    // The letter differs in its highest bits, so its byte is the first wrong one.
    func wrong(at place: Int) -> [UInt8] {
      var bytes = token
      bytes[start + place] = bytes[start + place] == UInt8(ascii: "A") ? 0x67 : 0x41
      return bytes
    }
    let early = wrong(at: 0)
    let late = wrong(at: 40)
    func quickest(_ token: [UInt8]) -> Duration {
      let clock = ContinuousClock()
      return (0..<40).map { _ in
        clock.measure {
          for _ in 0..<25 {
            _ = try? VisitorIdentity(token: token, secret: Self.secret, now: now)
          }
        }
      }.min() ?? .zero
    }
    _ = quickest(early)
    let (first, second) = (quickest(early), quickest(late))
    // A comparison that stops at the first wrong byte would differ by nanoseconds among
    // microseconds: this test detects a path that does other work, such as reading the claims.
    let ratio = first / second
    #expect((0.5...2).contains(ratio), "\(first) and \(second)")
  }
}

/// The keys that sign tokens: one after another, with an overlap, and ended at once.
import OpenSSL
import Primitives
import Testing

@testable import Tokens

@Suite struct KeyRingTests {
  static let now = TokenAuthorityTests.now
  /// Every kind of token that is signed: of the widget, of a login, of the command line, and of a
  /// login that must set its own password first.
  static let kinds: [(principal: Principal, binding: TokenBinding)] = [
    (TokenAuthorityTests.visitor, TokenBinding(origin: "https://shop.example")),
    (TokenAuthorityTests.agent, TokenBinding(session: "0f", credential: "c")),
    (TokenAuthorityTests.agent, TokenBinding()),
    (
      .operator(
        id: Identifier(high: 1, low: 2), workspace: Identifier(high: 3, low: 4), name: "Ada",
        role: "password"), TokenBinding(session: "0f")
    ),
  ]

  private static func at(_ seconds: Int64) -> WallTime {
    WallTime(microseconds: now.microseconds + seconds * 1_000_000)
  }

  private static func key(
    _ id: String?, from start: Int64 = 0, to end: Int64? = nil
  ) -> TokenKey {
    let byte = UInt8((id ?? "").utf8.reduce(7) { ($0 + Int($1)) % 256 })
    return TokenKey(
      id: id, secret: Array(repeating: byte, count: 32), startsAt: at(start),
      endsAt: end.map { at($0) })
  }

  private func issue(_ authority: TokenAuthority, at seconds: Int64) throws -> [UInt8] {
    let issued = try authority.issue(
      TokenAuthorityTests.agent, lifetimeSeconds: 86_400, now: Self.at(seconds))
    return Array(issued.token.utf8)
  }

  private func header(_ token: [UInt8]) throws -> String {
    let part = try #require(token.split(separator: UInt8(ascii: ".")).first)
    return String(decoding: try #require(Base64.url.decode(part)), as: UTF8.self)
  }

  @Test("the first key signs without kid, as before keys were rotated; others name themselves")
  func headers() throws {
    let authority = TokenAuthority(keys: [Self.key(nil)])
    #expect(try header(issue(authority, at: 0)) == #"{"alg":"HS256","typ":"JWT"}"#)
    _ = authority.use([Self.key(nil, to: 90), Self.key("key-b", from: 30)], now: Self.now)
    #expect(try header(issue(authority, at: 29)) == #"{"alg":"HS256","typ":"JWT"}"#)
    #expect(
      try header(issue(authority, at: 30)) == #"{"alg":"HS256","kid":"key-b","typ":"JWT"}"#)
  }

  @Test("a kid with a quote stays inside its member")
  func strangeID() throws {
    let authority = TokenAuthority(keys: [Self.key(#"a","alg":"none"#)])
    let token = try issue(authority, at: 0)
    #expect(try header(token) == #"{"alg":"HS256","kid":"a\",\"alg\":\"none","typ":"JWT"}"#)
    #expect(throws: Never.self) { try authority.verify(token, now: Self.now) }
  }

  @Test("tokens of the old key are valid in the overlap and not after it", arguments: kinds.indices)
  func overlap(kind: Int) throws {
    let (principal, binding) = Self.kinds[kind]
    let authority = TokenAuthority(keys: [Self.key(nil)])
    let old = Array(
      try authority.issue(principal, boundTo: binding, lifetimeSeconds: 86_400, now: Self.now)
        .token.utf8)
    _ = authority.use([Self.key(nil, to: 90), Self.key("b", from: 30)], now: Self.now)
    let new = Array(
      try authority.issue(
        principal, boundTo: binding, lifetimeSeconds: 86_400, now: Self.at(30)
      ).token.utf8)
    for seconds: Int64 in [0, 30, 89] {
      for token in [old, new] {
        let verified = try authority.verify(token, now: Self.at(seconds))
        #expect(verified.principal == principal && verified.binding == binding)
      }
    }
    #expect(throws: TokenFault.badSignature) { try authority.verify(old, now: Self.at(90)) }
    #expect(try authority.verify(new, now: Self.at(90)).principal == principal)
  }

  @Test("a clock that is behind: a key is accepted before it signs, and an ended one never signs")
  func clocks() throws {
    let ahead = TokenAuthority(keys: [Self.key(nil, to: 5), Self.key("b", from: 5)])
    let token = try issue(ahead, at: 5)
    let behind = TokenAuthority(keys: [Self.key(nil, to: 5), Self.key("b", from: 5)])
    #expect(throws: Never.self) { try behind.verify(token, now: Self.at(3)) }
    // The old key ended at once, and by this clock the new one begins later.
    _ = behind.use([Self.key(nil, to: 0), Self.key("b", from: 5)], now: Self.now)
    #expect(try header(issue(behind, at: 3)).contains(#""kid":"b""#))
  }

  @Test("a token that names no key is tried with all, one that names a key with that one only")
  func names() throws {
    let keys = [Self.key(nil), Self.key("b"), Self.key("c")]
    let authority = TokenAuthority(keys: keys)
    func signed(_ header: String, by key: TokenKey) -> [UInt8] {
      let claims = """
        {"iss":"chirrup","aud":"chirrup:visitor","sub":"\(Identifier.zero)","iat":1,\
        "exp":1795280000,"wsp":"\(Identifier.zero)","ses":[],"name":""}
        """
      let text = [header, claims].map { Base64.url.encode(Array($0.utf8)) }
        .joined(separator: ".")
      let signature = HMACSHA256.code(for: Array(text.utf8), key: key.secret)
      return Array("\(text).\(Base64.url.encode(signature))".utf8)
    }
    for key in keys {
      let foreign = signed(#"{"typ":"JWT","alg":"HS256"}"#, by: key)
      #expect(throws: Never.self) { try authority.verify(foreign, now: Self.now) }
      for other in keys {
        let member = other.id.map { #""kid":"\#($0)","# } ?? ""
        let token = signed(#"{"alg":"HS256",\#(member)"typ":"JWT"}"#, by: key)
        if key.id == other.id {
          #expect(throws: Never.self) { try authority.verify(token, now: Self.now) }
        } else {
          #expect(throws: TokenFault.badSignature) { try authority.verify(token, now: Self.now) }
        }
      }
    }
  }

  @Test("use reports each key that has ended once, by the number in its tokens")
  func ended() throws {
    let authority = TokenAuthority(keys: [Self.key(nil)])
    let first = try authority.verify(issue(authority, at: 0), now: Self.now).key
    #expect(authority.use([Self.key(nil), Self.key("b", from: 30)], now: Self.now) == [])
    let second = try authority.verify(issue(authority, at: 30), now: Self.at(30)).key
    #expect(first != second)
    let replaced = [Self.key(nil, to: 60), Self.key("b", from: 30)]
    #expect(authority.use(replaced, now: Self.at(40)) == [])
    // A clock behind the database's notices the end later.
    #expect(authority.use(replaced, now: Self.at(60)) == [first])
    #expect(authority.use(replaced, now: Self.at(61)) == [])
    // A key that is gone has ended too.
    #expect(authority.use([Self.key("c", from: 62)], now: Self.at(62)) == [second])
    let third = try authority.verify(issue(authority, at: 62), now: Self.at(62)).key
    #expect(third != first && third != second)
  }

  @Test("every flipped bit of a token with kid is detected")
  func flippedBits() throws {
    let authority = TokenAuthority(keys: [Self.key(nil), Self.key("b")])
    let token = try issue(authority, at: 0)
    for index in token.indices {
      for bit in 0..<8 {
        var damaged = token
        damaged[index] ^= 1 << UInt8(bit)
        #expect(throws: TokenFault.self) { try authority.verify(damaged, now: Self.now) }
      }
    }
  }
}

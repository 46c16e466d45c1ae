/// Admission, trusted proxies and host names, without sockets.
import Kernel
import Primitives
import Settings
import Testing
import Wire

@testable import Gateway

private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

@Suite("Admission (faults H28, N17)")
struct AdmissionTests {
  private func make(_ change: (inout Settings) -> Void = { _ in }) -> Admission {
    var settings = Settings()
    settings.limits.connectionsPerAddress = 2
    settings.limits.connectsPerAddress = 0
    change(&settings)
    return Admission(settings)
  }

  private func enter(_ admission: Admission, _ text: String) throws -> Admission.ConnectionDecision
  {
    var place = Admission.Permit()
    return admission.enter(try address(text), &place, now: .zero)
  }

  @Test("the gateway has a total socket limit, and a closed socket frees its place")
  func total() {
    let admission = make { $0.limits.connections = 2 }
    #expect((0..<3).map { _ in admission.enter() } == [.admitted, .admitted, .full])
    admission.leave(Admission.Permit())
    #expect(admission.enter() == .admitted)
    #expect(admission.count == 2)
  }

  @Test("a full gateway admits sockets of the admin listener, up to a limit of their own")
  func admin() {
    let admission = make { $0.limits.connections = 1 }
    #expect([admission.enter(), admission.enter()] == [.admitted, .full])
    let decisions = (0...Admission.adminSocketsMax).map { _ in admission.enter(isAdmin: true) }
    #expect(decisions.dropLast().allSatisfy { $0 == .admitted })
    #expect(decisions.last == .full)
    #expect(admission.count == 1)
    admission.leave(Admission.Permit(), isAdmin: true)
    #expect([admission.enter(), admission.enter(isAdmin: true)] == [.full, .admitted])
  }

  @Test("each address has its own limit; an IPv6 /64 counts as one address")
  func perAddress() throws {
    let admission = make()
    #expect(try enter(admission, "203.0.113.1") == .admitted)
    #expect(try enter(admission, "::ffff:203.0.113.1") == .admitted)
    #expect(try enter(admission, "203.0.113.1") == .tooManyFromAddress)
    #expect(try enter(admission, "203.0.113.2") == .admitted)
    #expect(try enter(admission, "2001:db8::1") == .admitted)
    #expect(try enter(admission, "2001:db8::2") == .admitted)
    #expect(try enter(admission, "2001:db8::ffff:3") == .tooManyFromAddress)
    #expect(try enter(admission, "2001:db8:0:1::1") == .admitted)
  }

  @Test(
    "TLS handshakes have a total limit and one per address; a finished handshake frees its place")
  func handshakes() throws {
    let admission = make {
      $0.limits.handshakes = 3
      $0.limits.handshakesPerAddress = 2
    }
    func begin(_ text: String) throws -> Admission.HandshakeDecision {
      admission.beginHandshake(try address(text))
    }
    #expect(try begin("2001:db8::1") == .admitted)
    #expect(try begin("2001:db8::2") == .admitted)
    #expect(try begin("2001:db8::3") == .tooManyFromAddress)
    #expect(try begin("203.0.113.1") == .admitted)
    #expect(try begin("203.0.113.2") == .full)
    #expect(admission.handshakeCount == 3)
    admission.endHandshake(try address("2001:db8::ffff"))
    #expect(try begin("2001:db8::3") == .admitted)
    for text in ["2001:db8::2", "2001:db8::3", "203.0.113.1"] {
      admission.endHandshake(try address(text))
    }
    #expect(admission.handshakeCount == 0)
    // Exempt addresses bypass the limit per address, but not the total limit.
    for _ in 0..<3 { #expect(try begin("127.0.0.1") == .admitted) }
    #expect(try begin("127.0.0.1") == .full)
  }

  @Test("a connection is counted once and releases its place once")
  func places() throws {
    let admission = make()
    var place = Admission.Permit()
    let peer = try address("203.0.113.1")
    for _ in 0..<3 { #expect(admission.enter(peer, &place, now: .zero) == .admitted) }
    #expect(try enter(admission, "203.0.113.1") == .admitted)
    #expect(try enter(admission, "203.0.113.1") == .tooManyFromAddress)
    #expect(admission.enter() == .admitted)
    admission.leave(place)
    #expect(try enter(admission, "203.0.113.1") == .admitted)
  }

  @Test("loopback and trusted proxies are exempt, unless the settings override it")
  func exempt() throws {
    let admission = make { $0.trustedProxies = ["10.0.0.0/8"] }
    for peer in ["127.0.0.1", "::1", "10.1.1.1"] {
      for _ in 0..<9 { #expect(try enter(admission, peer) == .admitted) }
    }
    let strict = make { $0.limits.exemptAddresses = [] }
    #expect(try (0..<3).map { _ in try enter(strict, "127.0.0.1") }.last == .tooManyFromAddress)
  }

  @Test("new connections have a rate limit; a refusal gives the seconds until it recovers")
  func connects() throws {
    let admission = make {
      $0.limits.connectionsPerAddress = 0
      $0.limits.connectsPerAddress = 30
    }
    for _ in 0..<30 { #expect(try enter(admission, "203.0.113.1") == .admitted) }
    #expect(try enter(admission, "203.0.113.1") == .tooFast(seconds: 2))
    #expect(try enter(admission, "203.0.113.2") == .admitted)
    var place = Admission.Permit()
    let later = Instant.zero.advanced(byMilliseconds: 2_000)
    #expect(admission.enter(try address("203.0.113.1"), &place, now: later) == .admitted)
  }

  @Test("hellos have a separate rate limit")
  func hellos() throws {
    let admission = make { $0.limits.hellosPerAddress = 3 }
    let peer = try address("2001:db8::1")
    #expect(
      (0..<4).map { _ in admission.mayVerify(peer, now: .zero) } == [true, true, true, false])
    #expect(admission.mayVerify(.loopback, now: .zero))
  }

  @Test("visitors and workspaces have limits; a closed connection frees both places")
  func people() throws {
    let admission = make {
      $0.limits.connectionsPerVisitor = 1
      $0.limits.connectionsPerWorkspace = 2
    }
    let (shop, other) = (Identifier(high: 1, low: 0), Identifier(high: 2, low: 0))
    var places = (0..<4).map { _ in Admission.Permit() }
    func visitor(_ number: UInt64) -> Identifier { Identifier(high: 9, low: number) }
    #expect(admission.enter(visitor: visitor(1), workspace: shop, &places[0]) == .admitted)
    #expect(admission.enter(visitor: visitor(1), workspace: shop, &places[0]) == .admitted)
    #expect(admission.enter(visitor: visitor(1), workspace: shop, &places[1]) == .tooManyOfVisitor)
    #expect(admission.enter(visitor: visitor(2), workspace: shop, &places[1]) == .admitted)
    #expect(
      admission.enter(visitor: visitor(3), workspace: shop, &places[2]) == .tooManyOfWorkspace)
    #expect(admission.enter(visitor: visitor(4), workspace: other, &places[3]) == .admitted)
    for place in places {
      _ = admission.enter()
      admission.leave(place)
    }
    var again = Admission.Permit()
    #expect(admission.enter(visitor: visitor(3), workspace: shop, &again) == .admitted)
  }
}

@Suite("Trusted proxies (faults H27)")
struct ProxiesTests {
  private func head(_ fields: String) throws -> RequestHead {
    try Array("GET / HTTP/1.1\r\nHost: x\r\n\(fields)\r\n".utf8).withRawSpan {
      try RequestHead.parse($0)
    }
  }

  private var proxies: Proxies {
    var settings = Settings()
    settings.trustedProxies = ["10.0.0.0/8", "2001:db8::/32"]
    return Proxies(settings)
  }

  @Test(
    "the client is the rightmost address that is not a trusted proxy",
    arguments: [
      ("198.51.100.9", "203.0.113.7", "198.51.100.9"),  // not a proxy: the field is ignored
      ("10.0.0.1", "203.0.113.7", "203.0.113.7"),
      ("10.0.0.1", "1.1.1.1, 203.0.113.7", "203.0.113.7"),
      ("10.0.0.1", "203.0.113.7, 10.0.0.2, 10.0.0.3", "203.0.113.7"),
      ("10.0.0.1", "10.0.0.9, 10.0.0.2", "10.0.0.9"), ("10.0.0.1", "", "10.0.0.1"),
      ("10.0.0.1", "unknown", "10.0.0.1"), ("10.0.0.1", "1.1.1.1, unknown, 10.0.0.2", "10.0.0.2"),
      ("10.0.0.1", "203.0.113.7:4711", "203.0.113.7"),
      ("10.0.0.1", "[2001:db9::1]:80", "2001:db9::1"),
      ("2001:db8::1", "2001:db9::1", "2001:db9::1"),
      ("10.0.0.1", "::ffff:203.0.113.7", "203.0.113.7"),
      ("10.0.0.1", "203.0.113.7; drop table", "10.0.0.1"),
    ])
  func client(_ row: (peer: String, field: String, client: String)) throws {
    let head = try head("X-Forwarded-For: \(row.field)\r\n")
    #expect(proxies.client(of: try address(row.peer), head) == (try address(row.client)))
  }

  @Test("several fields form one list, and the search ends after 32 proxies")
  func fields() throws {
    let two = try head("X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 203.0.113.7\r\n")
    #expect(proxies.client(of: try address("10.0.0.1"), two) == (try address("203.0.113.7")))
    let hops = Array(repeating: "10.0.0.2", count: 40).joined(separator: ",")
    let many = try head("X-Forwarded-For: 203.0.113.7,\(hops)\r\n")
    #expect(proxies.client(of: try address("10.0.0.1"), many) == (try address("10.0.0.2")))
  }

  @Test("X-Forwarded-Proto counts from a trusted proxy only, and its last value applies")
  func secure() throws {
    let https = try head("X-Forwarded-Proto: http, HTTPS\r\n")
    #expect(proxies.isSecure(try address("10.0.0.1"), https))
    #expect(!proxies.isSecure(try address("203.0.113.7"), https))
    #expect(
      !proxies.isSecure(try address("10.0.0.1"), try head("X-Forwarded-Proto: https, http\r\n")))
  }

  @Test("a PROXY header is expected from trusted proxies only, and only if configured")
  func header() throws {
    #expect(!proxies.sendsHeader(try address("10.0.0.1")))
    var settings = Settings()
    settings.trustedProxies = ["10.0.0.0/8"]
    settings.proxyProtocol = true
    #expect(Proxies(settings).sendsHeader(try address("10.0.0.1")))
    #expect(!Proxies(settings).sendsHeader(try address("203.0.113.7")))
  }
}

@Suite("Host names of the gateway (faults A07)")
struct HostsTests {
  private func hosts(_ change: (inout Settings) -> Void = { _ in }) -> Hosts {
    var settings = Settings()
    change(&settings)
    return Hosts(settings)
  }

  @Test("a loopback listener accepts only IP addresses and localhost")
  func loopback() {
    for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:8080", "[::1]:8080", "a.localhost"] {
      #expect(hosts().admit(host), "\(host)")
    }
    for host in ["attacker.test", "localhost.attacker.test", "127.0.0.1.attacker.test:8080", "[x]"]
    {
      #expect(!hosts().admit(host), "\(host)")
    }
    #expect(hosts().admit(nil))
  }

  @Test("public_url and allowed_hosts add the other accepted names")
  func configured() {
    let named = hosts {
      $0.publicURL = "https://Chat.Example.com:8443/x"
      $0.allowedHosts = ["gateway.internal"]
      $0.listen = [ListenAddress(host: "0.0.0.0", port: 80)]
    }
    for host in ["chat.example.com", "chat.example.com.:443", "gateway.internal:80", "10.0.0.1"] {
      #expect(named.admit(host), "\(host)")
    }
    #expect(!named.admit("attacker.test"))
    #expect(hosts { $0.allowedHosts = ["*"] }.admit("attacker.test"))
  }

  @Test("a public listener without a configured name accepts every name")
  func open() {
    #expect(hosts { $0.listen = [ListenAddress(host: "0.0.0.0", port: 80)] }.admit("any.test"))
  }
}

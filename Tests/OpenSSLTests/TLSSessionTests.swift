import Primitives
import Testing

@testable import OpenSSL

private func server(
  _ files: [TLSCertificateFiles] = [TestCertificates.localhost],
  tickets: TLSTicketKeys = TLSTicketKeys(), own: Bool = false
) throws -> TLSContext {
  try TLSContext(server: files, tickets: tickets, compactRecords: own)
}

private func client(
  _ maximum: TLSVersion = .v13, protocols: [String] = ["http/1.1"], trusting: String? = nil
) throws -> TLSContext {
  try TLSContext(
    clientVerifying: trusting != nil, authority: trusting, maximum: maximum, protocols: protocols)
}

/// TLS 1.3 with our record layer and with OpenSSL's, and TLS 1.2.
enum Kind: CaseIterable, CustomTestStringConvertible {
  case own, library, version12

  var testDescription: String {
    switch self {
    case .own: "TLS 1.3"
    case .library: "TLS 1.3 with OpenSSL's records"
    case .version12: "TLS 1.2"
    }
  }

  func pair() throws -> TLSPair {
    TLSPair(
      server: try server(own: self == .own), client: try client(self == .version12 ? .v12 : .v13))
  }
}

@Suite("TLS sessions")
struct TLSSessionTests {
  private static let long = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  @Test(
    "two ends complete the handshake and exchange data", arguments: Kind.allCases,
    [65_536, 1_000, 1])
  func talk(kind: Kind, pieceBytes: Int) throws {
    let pair = try kind.pair()
    pair.pieceBytes = pieceBytes
    pair.exchange()
    #expect(pair.server.isEstablished && pair.client.isEstablished)
    #expect(pair.server.version == (kind == .version12 ? .v12 : .v13))
    #expect(pair.server.isCompact == (kind == .own))
    let text = pieceBytes == 1 ? Array(TLSSessionTests.long.prefix(20_000)) : TLSSessionTests.long
    pair.say(text, from: pair.client)
    pair.say(text, from: pair.server)
    pair.say([7], from: pair.client)
    #expect(pair.server.received == text + [7])
    #expect(pair.client.received == text)
    #expect(pair.server.fault == nil)
    #expect(pair.client.fault == nil)
  }

  @Test("data directly after the handshake is not lost", arguments: Kind.allCases)
  func behindTheHandshake(kind: Kind) throws {
    let pair = try kind.pair()
    // The client's last flight and its first message are delivered together.
    while !pair.client.isEstablished {
      pair.deliver(pair.client.takeUnsent(), to: pair.server)
      pair.deliver(pair.server.takeUnsent(), to: pair.client)
    }
    let sealed = try #require(pair.client.seal(Array("hello".utf8)))
    pair.deliver(sealed, to: pair.server)
    pair.exchange()
    #expect(pair.server.received == Array("hello".utf8))
  }

  @Test("close_notify is sent at once and received", arguments: Kind.allCases)
  func close(kind: Kind) throws {
    let pair = try kind.pair()
    pair.exchange()
    pair.server.session.close(pair.server.workspace)
    #expect(pair.server.hasUnsent)
    pair.exchange()
    #expect(pair.client.isClosed)
    let other = try kind.pair()
    other.exchange()
    other.client.session.close(other.client.workspace)
    other.exchange()
    #expect(other.server.isClosed)
    #expect(other.server.fault == nil)
    // After our close nothing can be sealed.
    #expect(pair.server.seal([1]) == nil)
  }

  @Test(
    "a record with a bit turned over ends the connection with an alert", arguments: Kind.allCases)
  func tampered(kind: Kind) throws {
    let pair = try kind.pair()
    pair.exchange()
    var sealed = try #require(pair.client.seal(Array("hello".utf8)))
    sealed[sealed.count - 3] ^= 1
    pair.deliver(sealed, to: pair.server)
    #expect(pair.server.fault == .badRecord)
    #expect(pair.server.received.isEmpty)
    pair.deliver(pair.server.takeUnsent(), to: pair.client)
    #expect(pair.client.fault == .alert)
    // Nothing more is decrypted.
    pair.deliver(sealed, to: pair.server)
    #expect(pair.server.received.isEmpty)
  }

  @Test("a replayed record is refused", arguments: Kind.allCases)
  func replayed(kind: Kind) throws {
    let pair = try kind.pair()
    pair.exchange()
    let sealed = try #require(pair.client.seal(Array("once".utf8)))
    pair.deliver(sealed, to: pair.server)
    pair.deliver(sealed, to: pair.server)
    #expect(pair.server.received == Array("once".utf8))
    #expect(pair.server.fault == .badRecord)
  }

  @Test("only http/1.1 is accepted: other offers get an alert, no offer is accepted")
  func applicationProtocol() throws {
    let wrong = TLSPair(server: try server(), client: try client(protocols: ["h2", "http/1.0"]))
    wrong.exchange()
    #expect(wrong.server.fault == .applicationProtocol)
    #expect(wrong.client.fault == .alert)
    for protocols in [[], ["h2", "http/1.1"]] {
      let pair = TLSPair(server: try server(), client: try client(protocols: protocols))
      pair.exchange()
      #expect(pair.server.isEstablished)
    }
  }

  @Test(
    "the name selects the certificate; an unknown name gets the first one",
    arguments: [
      ("chat.example.com", "chat"), ("CHAT.example.com", "chat"), ("a.example.org", "wild"),
      ("example.org", "wild"), ("localhost", "localhost"), ("a.b.example.org", "localhost"),
      ("nobody.test", "localhost"), ("127.0.0.1", "localhost"),
    ])
  func serverName(name: String, expected: String) throws {
    let all = [TestCertificates.localhost, TestCertificates.chat, TestCertificates.wild]
    let context = try server(all)
    for files in all {
      // The client trusts only one certificate, so its result shows which one it received.
      let trusting = try client(trusting: files.chain)
      let pair = TLSPair(server: context, client: trusting, name: name)
      pair.exchange()
      let isThis = files.chain.hasSuffix("/\(expected).pem")
      let isNamed = expected != "localhost" || name == "localhost"
      #expect(pair.client.isEstablished == (isThis && isNamed))
      #expect(pair.client.fault == (isThis && isNamed ? nil : .untrusted))
    }
  }

  @Test("data that is not TLS is distinguished from HTTP, and never accepted")
  func notTLS() throws {
    let cases: [(bytes: [UInt8], fault: TLSFault)] = [
      (Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), .plainHTTP),
      (Array("POST /api HTTP/1.1\r\n".utf8), .plainHTTP),
      ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], .notTLS),
      (Array("SSH-2.0-OpenSSH_9.2p1\r\n".utf8), .notTLS),
    ]
    for (bytes, fault) in cases {
      let pair = TLSPair(server: try server(), client: try client())
      pair.deliver(bytes, to: pair.server)
      #expect(pair.server.fault == fault)
    }
  }

  @Test("random bytes end in a fault or wait for more, without a crash")
  func garbage() throws {
    var random = SystemRandomNumberGenerator()
    let context = try server()
    for round in 0..<300 {
      let pair = TLSPair(server: context, client: try client())
      // Only random bytes, a corrupted hello, or random bytes instead of the client's second
      // flight.
      var bytes = (0..<Int.random(in: 1...2_000)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      if round % 3 > 0 {
        var hello = pair.client.takeUnsent()
        if round % 3 == 1 {
          for _ in 0..<4 { hello[Int.random(in: 0..<hello.count)] = UInt8.random(in: 0...255) }
        }
        bytes = hello + bytes
      }
      pair.deliver(bytes, to: pair.server)
      #expect(!pair.server.isEstablished)
    }
  }
}

@Suite("TLS over time")
struct TLSLifeTests {
  @Test("a connection that moves to another loop continues there", arguments: Kind.allCases)
  func moving(kind: Kind) throws {
    let pair = try kind.pair()
    pair.exchange()
    pair.say(Array("one".utf8), from: pair.client)
    // Half a record is held during the move.
    let sealed = try #require(pair.client.seal(Array("two".utf8)))
    pair.deliver(Array(sealed.prefix(9)), to: pair.server)
    pair.server.workspace = TLSWorkspace()
    pair.deliver(Array(sealed.dropFirst(9)), to: pair.server)
    pair.say(Array("three".utf8), from: pair.server)
    #expect(pair.server.received == Array("onetwo".utf8))
    #expect(pair.client.received == Array("three".utf8))
  }

  @Test(
    "the peer may update its keys and request new ones from us", arguments: [Kind.own, .library])
  func keyUpdate(kind: Kind) throws {
    let pair = try kind.pair()
    pair.exchange()
    for round in 0..<100 {
      pair.client.session.requestKeyUpdate(pair.client.workspace)
      pair.exchange()
      pair.say([UInt8(round)], from: pair.client)
      pair.say([UInt8(round)], from: pair.server)
    }
    #expect(pair.server.received == Array(0..<100))
    #expect(pair.client.received == Array(0..<100))
  }

  @Test("key updates without data in between are limited", arguments: [Kind.own, .library])
  func keyUpdateFlood(kind: Kind) throws {
    let pair = try kind.pair()
    pair.exchange()
    var count = 0
    while pair.server.fault == nil, count < 10_000 {
      pair.client.session.requestKeyUpdate(pair.client.workspace)
      pair.deliver(pair.client.takeUnsent(), to: pair.server)
      // Our answers deliver the client's next request.
      pair.deliver(pair.server.takeUnsent(), to: pair.client)
      count += 1
    }
    #expect(pair.server.fault == .keyUpdates)
    #expect(count == Int(TLSRecords.keyUpdatesMax) + 1)
  }

  @Test("each resumption issues the next ticket, because a ticket is used once")
  func resumptionAgain() throws {
    let tickets = TLSTicketKeys()
    let (serverContext, clientContext) = (try server(tickets: tickets), try client())
    var ticket: TLSResumption?
    for round in 0..<5 {
      let pair = TLSPair(server: serverContext, client: clientContext, resuming: ticket)
      pair.exchange()
      pair.say([1], from: pair.server)
      #expect(pair.client.isResumed == (round > 0))
      ticket = pair.client.resumption()
      pair.client.session.close(pair.client.workspace)
    }
  }

  @Test("a returning client resumes by its ticket, also after a reload and a rotation")
  func resumption() throws {
    let tickets = TLSTicketKeys()
    let clientContext = try client()
    let first = TLSPair(server: try server(tickets: tickets), client: clientContext)
    first.exchange()
    first.say([1], from: first.server)
    #expect(!first.client.isResumed)
    let ticket = try #require(first.client.resumption())
    // After a reload, after a rotation, and after the rotation that drops the ticket's key.
    for expected in [true, true, false] {
      let next = TLSPair(
        server: try server(tickets: tickets), client: clientContext, resuming: ticket)
      next.exchange()
      next.say([1, 2], from: next.client)
      #expect(next.server.received == [1, 2])
      #expect(next.client.isResumed == expected)
      // A client that does not send close_notify drops its ticket.
      next.client.session.close(next.client.workspace)
      tickets.rotate()
    }
  }

  @Test("our keys are updated before their limit, and the peer follows")
  func ownKeyUpdate() {
    let (left, right) = (
      Array(repeating: UInt8(1), count: 32), Array(repeating: UInt8(2), count: 32)
    )
    let sender = TLSRecords(
      suite: .aes128, readSecret: left, writeSecret: right, written: 0, recordsPerKey: 3)
    let receiver = TLSRecords(suite: .aes128, readSecret: right, writeSecret: left, written: 0)
    let aead = TLSAEAD()
    var received = 0
    for _ in 0..<20 {
      var bytes: [UInt8] = []
      let text = [UInt8](repeating: 5, count: 100)
      // SAFETY: here and below the arrays outlive the calls.
      _ = unsafe text.withUnsafeBytes { unsafe sender.seal($0, room: 1_000, aead, output: &bytes) }
      var cursor = TLSCursor(next: 0, end: bytes.count)
      var output: [UInt8] = []
      unsafe bytes.withUnsafeMutableBytes { buffer in
        while case .plain(let range) = unsafe receiver.open(buffer, &cursor, aead, output: &output)
        {
          received += range.count
        }
      }
      #expect(output.isEmpty)
    }
    #expect(received == 2_000)
  }

  @Test("the number of contexts follows the simultaneous connections, not all connections")
  func contextsOfThePast() {
    let aead = TLSAEAD()
    for number in 0..<600 {
      let secret = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32)
      let records = TLSRecords(
        suite: .aes128, readSecret: secret, writeSecret: secret, written: 0)
      var output: [UInt8] = []
      // SAFETY: the array outlives the call.
      _ = unsafe secret.withUnsafeBytes {
        unsafe records.seal($0, room: 100, aead, output: &output)
      }
      records.forget(aead)
    }
    #expect(aead.contextCount == 1)
  }

  @Test("more active connections than contexts take turns, and some of them end")
  func manyConnections() {
    let aead = TLSAEAD()
    func secret(_ number: Int) -> [UInt8] {
      (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 2 * 8)) }
    }
    let pairs = (0..<(TLSAEAD.connectionsMax + 20)).map { number in
      (
        TLSRecords(
          suite: .aes128, readSecret: secret(number), writeSecret: secret(number + 5_000),
          written: 0),
        TLSRecords(
          suite: .aes128, readSecret: secret(number + 5_000), writeSecret: secret(number),
          written: 0)
      )
    }
    var received = 0
    for round in 0..<3 {
      for (index, (sender, receiver)) in pairs.enumerated() {
        var (bytes, output): ([UInt8], [UInt8]) = ([], [])
        // SAFETY: here and below the arrays outlive the calls.
        _ = unsafe [UInt8](repeating: 1, count: 9).withUnsafeBytes {
          unsafe sender.seal($0, room: 100, aead, output: &bytes)
        }
        var cursor = TLSCursor(next: 0, end: bytes.count)
        unsafe bytes.withUnsafeMutableBytes { buffer in
          while case .plain = unsafe receiver.open(buffer, &cursor, aead, output: &output) {
            received += 1
          }
        }
        // A connection that moves is removed here and may return.
        if index % 3 == round { sender.forget(aead) }
        if index % 5 == round { receiver.forget(aead) }
      }
    }
    #expect(received == 3 * pairs.count)
  }

  @Test("keys are derived from a secret as in RFC 8448 §3")
  func keySchedule() {
    let secret: [UInt8] = [
      0xa1, 0x1a, 0xf9, 0xf0, 0x55, 0x31, 0xf8, 0x56, 0xad, 0x47, 0x11, 0x6b, 0x45, 0xa9, 0x50,
      0x32, 0x82, 0x04, 0xb4, 0xf4, 0x4b, 0xfb, 0x6b, 0x3a, 0x4b, 0x4f, 0x1f, 0x3f, 0xcb, 0x63,
      0x16, 0x43,
    ]
    #expect(
      TLSSuite.aes128.expand(secret, label: "key", byteCount: 16) == [
        0x9f, 0x02, 0x28, 0x3b, 0x6c, 0x9c, 0x07, 0xef, 0xc2, 0x6b, 0xb9, 0xf2, 0xac, 0x92, 0xe3,
        0x56,
      ])
    #expect(
      TLSSuite.aes128.expand(secret, label: "iv", byteCount: 12) == [
        0xcf, 0x78, 0x2b, 0x88, 0xdd, 0x83, 0x54, 0x9a, 0xad, 0xf1, 0xe9, 0x84,
      ])
  }
}

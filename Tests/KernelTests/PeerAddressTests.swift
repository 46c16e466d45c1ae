import Kernel
import Testing

@Suite struct PeerAddressTests {
  @Test(
    "addresses are parsed, and formatted in the canonical form (RFC 5952)",
    arguments: [
      ("127.0.0.1", "127.0.0.1"), ("255.255.255.255", "255.255.255.255"), ("::1", "::1"),
      ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("::ffff:10.1.2.3", "10.1.2.3"), ("::", "::"),
    ])
  func forms(_ text: String, _ canonical: String) throws {
    let address = try #require(IPAddress(text))
    #expect(address.description == canonical)
    #expect(IPAddress(canonical) == address)
  }

  @Test(
    "malformed addresses are refused",
    arguments: [
      "", "localhost", "1.2.3", "1.2.3.256", "[::1]", "::1%lo", "1.2.3.4:80", " ::1",
      "1.2.3.4\0",
    ])
  func refused(_ text: String) {
    #expect(IPAddress(text) == nil)
  }

  @Test("limits count per IPv4 address, and per /64 prefix of IPv6 (N17)")
  func limitKey() throws {
    func key(_ text: String) throws -> IPAddress { try #require(IPAddress(text)).limitKey }
    #expect(try key("10.0.0.1") != key("10.0.0.2"))
    #expect(try key("10.0.0.1") == key("::ffff:10.0.0.1"))
    #expect(try key("2001:db8:1:2::1") == key("2001:db8:1:2:ffff::9"))
    #expect(try key("2001:db8:1:2::1") != key("2001:db8:1:3::1"))
  }

  @Test("loopback is recognised in both families")
  func loopback() throws {
    for text in ["127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1"] {
      #expect(try #require(IPAddress(text)).isLoopback)
    }
    for text in ["128.0.0.1", "10.0.0.1", "::2", "::"] {
      #expect(try !#require(IPAddress(text)).isLoopback)
    }
    #expect(PeerAddress(ip: .loopback, port: 80).description == "127.0.0.1:80")
    #expect(PeerAddress(ip: .any, port: 80).description == "[::]:80")
  }
}

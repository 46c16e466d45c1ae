import Kernel
import Testing
import Webhooks

@Suite struct AddressTests {
  @Test(
    "addresses of this machine, of private networks and of no single host are refused (X12)",
    arguments: [
      "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254",
      "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.254",
      "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.254",
      "198.51.100.1", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1",
      "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
      "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
      "64:ff9b:1::1", "100::1", "2001::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::1",
      "3fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1", "5f00::1",
      "192.31.196.1", "192.52.193.1", "192.175.48.1", "192.88.99.2", "192.0.0.170",
      "100:0:0:1::1", "2001:0:4136:e378::1", "2001:2::1", "2001:3::1", "2001:4:112::1",
      "2001:20::1", "2001:30::1", "2002:808:808::1", "2620:4f:8000::1", "64:ff9b::c0a8:1",
      "::8.8.8.8", "1::1", "4000::1",
    ])
  func refused(text: String) throws {
    let ip = try #require(IPAddress(text))
    #expect(!AddressGuard.isPublic(ip))
    #expect(!AddressGuard().admits(PeerAddress(ip: ip, port: 443)))
    #expect(
      AddressGuard(allowsPrivate: true).admits(PeerAddress(ip: ip, port: 443))
        == !AddressGuard.isMetadataService(ip))
  }

  @Test(
    "metadata services of clouds are refused, with allow_private too (X12)",
    arguments: [
      "168.63.129.16", "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192",
      "fd00:ec2::254", "fd20:ce::254", "fe80::a9fe:a9fe", "::ffff:168.63.129.16",
      "::ffff:169.254.169.254", "64:ff9b::a83f:8110", "64:ff9b::a9fe:a9fe",
    ])
  func metadata(text: String) throws {
    let ip = try #require(IPAddress(text))
    for allowsPrivate in [false, true] {
      let addressGuard = AddressGuard(allowsPrivate: allowsPrivate)
      #expect(!addressGuard.admits(PeerAddress(ip: ip, port: 80)))
      let host = text.contains(":") ? "[\(text)]" : text
      #expect(throws: WebhookAddress.Fault.privateAddress) {
        try WebhookAddress("http://\(host)/latest/meta-data", under: addressGuard)
      }
    }
  }

  @Test(
    "addresses of the public internet are allowed",
    arguments: [
      "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255",
      "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
      "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::64", "::ffff:8.8.8.8",
      "64:ff9b::808:808",
    ])
  func admitted(text: String) throws {
    #expect(AddressGuard().admits(PeerAddress(ip: try #require(IPAddress(text)), port: 443)))
  }

  @Test(
    "allowed ports",
    arguments: [(80, true), (443, true), (1_024, true), (65_535, true), (22, false)])
  func ports(port: Int, isAdmitted: Bool) throws {
    let peer = PeerAddress(ip: try #require(IPAddress("1.1.1.1")), port: UInt16(port))
    #expect(AddressGuard().admits(peer) == isAdmitted)
  }

  @Test(
    "valid URLs",
    arguments: [
      "https://example.com", "https://example.com/hook?a=b&c=%20", "HTTP://Example.COM:8080/",
      "https://xn--bcher-kva.example/", "https://1.1.1.1/x", "https://[2606:4700::1111]:8443/",
      "https://a_b.example.com./x",
    ])
  func good(url: String) throws {
    #expect(try WebhookAddress(url, under: AddressGuard()).url == url)
  }

  static let badURLs: [(url: String, fault: WebhookAddress.Fault)] = [
    ("ftp://example.com/", .notHTTP), ("//example.com/", .notHTTP), ("", .notHTTP),
    ("javascript:alert(1)", .notHTTP), ("https://user:pw@example.com/", .hasUser),
    ("https://1.1.1.1@127.0.0.1/", .hasUser), ("https:///x", .noHost), ("https://?x", .noHost),
    ("https://:443/", .noHost), ("https://.example.com/", .noHost),
    ("https://example.com:/", .badPort), ("https://example.com:0/", .badPort),
    ("https://example.com:65536/", .badPort), ("https://example.com:8o/", .badPort),
    ("https://example.com:22/", .portForbidden), ("https://example.com/#x", .badCharacter),
    ("https://example.com/a b", .badCharacter), ("https://bücher.example/", .badCharacter),
    ("https://example.com\\@127.0.0.1/", .badCharacter),
    ("https://example.com/\r\nX: y", .badCharacter), ("http://127.0.0.1/", .privateAddress),
    ("http://169.254.169.254/latest/meta-data", .privateAddress),
    ("http://[::1]/", .privateAddress), ("http://[::ffff:127.0.0.1]/", .privateAddress),
    ("http://localhost/", .privateAddress), ("http://a.localhost./", .privateAddress),
    ("http://intranet/", .privateAddress), ("http://2130706433/", .noHost),
    ("http://0x7f.1/", .noHost), ("http://0177.0.0.1/", .noHost), ("http://127.1/", .noHost),
    ("http://[::1/", .noHost), ("http://[1.1.1.1]/", .noHost), ("http://[::1]x/", .noHost),
    ("https://example.com/" + String(repeating: "a", count: 2_040), .tooLong),
  ]

  @Test("invalid URLs are refused", arguments: badURLs)
  func bad(url: String, fault: WebhookAddress.Fault) {
    #expect(throws: fault) { try WebhookAddress(url, under: AddressGuard()) }
  }

  @Test("with allow_private this machine and its network are allowed")
  func allowed() throws {
    let open = AddressGuard(allowsPrivate: true)
    for url in ["http://127.0.0.1:9000/", "http://localhost/", "http://receiver:8080/x"] {
      #expect(try WebhookAddress(url, under: open).url == url)
    }
  }
}

import Primitives
import Testing

@Suite struct HostAndPortTests {
  @Test(
    "a host alone, with a port, in brackets (RFC 3986 §3.2.2)",
    arguments: [
      ("example.com", "example.com", nil), ("a:80", "a", 80), ("a:0", "a", 0), ("", "", nil),
      (":80", "", 80), ("[::1]", "::1", nil), ("[::1]:65535", "::1", 65_535), ("[]:1", "", 1),
    ] as [(String, String, UInt16?)])
  func parts(text: String, host: String, port: UInt16?) {
    let parts = HostAndPort(text[...])
    #expect(parts?.host == host[...] && parts?.port == port)
    #expect(parts?.isBracketed == text.hasPrefix("["))
    #expect((parts?.portText == nil) == (port == nil))
  }

  @Test(
    "unbalanced brackets and second colons are refused",
    arguments: ["[::1", "[::1]x", "[::1]x:1", "::1", "a:1:2", "[::1]:1:2"])
  func refused(text: String) {
    #expect(HostAndPort(text[...]) == nil)
  }

  @Test(
    "a port is one to five digits up to 65535",
    arguments: ["a:", "a:65536", "a:-1", "a:+1", "a:8o", "a:000080", "a:٣"])
  func ports(text: String) {
    let parts = HostAndPort(text[...])
    #expect(parts != nil && parts?.portText != nil && parts?.port == nil)
  }
}

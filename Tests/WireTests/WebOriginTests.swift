/// The normalized form of origins.
import Testing
import Wire

@Suite struct WebOriginTests {
  @Test(
    "an origin has one form",
    arguments: [
      ("https://Example.COM", "https://example.com"), ("https://a.test:443", "https://a.test"),
      ("http://a.test:80", "http://a.test"), ("https://a.test:80", "https://a.test:80"),
      ("http://[2001:DB8::1]:8080", "http://[2001:db8::1]:8080"), ("http://[::1]", "http://[::1]"),
      ("chrome-extension://abc", "chrome-extension://abc"),
      ("https://xn--mnchen-3ya.test", "https://xn--mnchen-3ya.test"),
    ])
  func normal(_ pair: (String, String)) {
    #expect(WebOrigin.normalize(pair.0) == pair.1)
  }

  @Test(
    "an invalid origin is refused",
    arguments: [
      "", "null", "https:", "https://", "//a.test", "a.test", "https://a.test/", "https://a.test/x",
      "https://u@a.test", "https://a.test:", "https://a.test:0", "https://a.test:080",
      "https://a.test:65536", "https://a.test:99999999999999999999", "https://a test",
      "https://a.test\r\nX: y", "1https://a.test", "https://[::1", "https://[x]",
      "https://münchen.test",
      "https://a.test:80:80", "https://" + String(repeating: "a", count: 300),
    ])
  func none(_ text: String) { #expect(WebOrigin.normalize(text) == nil) }

  @Test(
    "an origin matches its host with its scheme only",
    arguments: [
      ("https://a.test", "a.test", true, true), ("https://a.test", "A.Test:443", true, true),
      ("https://a.test:8443", "a.test:8443", true, true),
      ("https://a.test", "a.test:80", true, false),
      ("https://a.test:8443", "a.test:8443:443", true, false),
      ("http://a.test", "a.test", true, false),
      ("http://a.test", "a.test:80", false, true), ("http://a.test", "a.test:080", false, false),
      ("http://a.test:443", "a.test:443", false, true), ("http://[::1]:80", "[::1]", false, false),
      ("http://[::1]", "[::1]:80", false, true), ("ftp://a.test", "a.test", false, false),
      ("https://", "", false, false), ("https://a.test", "b.a.test", false, false),
      ("https://a.test.b", "a.test", false, false), ("https://a%b", "a%b", false, false),
    ])
  func ofHost(_ origin: String, _ host: String, _ onlyTLS: Bool, _ expected: Bool) {
    #expect(WebOrigin.isOrigin(origin, ofHost: host, onlyTLS: onlyTLS) == expected)
  }

  @Test("a URL has the origin of its host")
  func url() {
    #expect(WebOrigin.of(url: "https://Chat.test:443/a/b") == "https://chat.test")
    #expect(WebOrigin.of(url: "chat.test") == nil)
  }
}

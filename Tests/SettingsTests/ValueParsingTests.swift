/// Accepted and refused texts of single values.
import Testing

@testable import Settings

@Suite struct ValueParsingTests {
  @Test(
    "listen addresses",
    arguments: [
      ("127.0.0.1:8080", "127.0.0.1", 8080), ("0.0.0.0:0", "0.0.0.0", 0),
      ("localhost:80", "127.0.0.1", 80), ("[::]:443", "::", 443), ("[::1]:1", "::1", 1),
      ("[2001:db8::8:800:200c:417a]:65535", "2001:db8::8:800:200c:417a", 65_535),
      ("[1:2:3:4:5:6:7:8]:1", "1:2:3:4:5:6:7:8", 1),
    ])
  func listen(text: String, host: String, port: UInt16) {
    #expect(parseListen(text) == ListenAddress(host: host, port: port))
  }

  @Test(
    "refused listen addresses",
    arguments: [
      "", ":", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
      "127.0.0.1:+1", "127.0.0.256:1", "127.0.0.01:1", "1.2.3:1", "1.2.3.4.5:1", "::1:80", "[::1]",
      "[1:2:3]:1", "[1::2::3]:1", "[12345::]:1", "[g::]:1", "[]:1", "[:]:1", "example.com:80",
      "127.0.0.1:٣",
    ])
  func noListen(text: String) {
    #expect(parseListen(text) == nil)
  }

  @Test func `a listen address is parsed`() {
    #expect(ListenAddress(host: "::1", port: 80).description == "[::1]:80")
    #expect(ListenAddress(host: "127.0.0.1", port: 80).description == "127.0.0.1:80")
  }

  @Test(
    "windows of maintenance",
    arguments: [
      ("02:00-05:00", 120, 300, "UTC"), ("22:30-04:00 Europe/Berlin", 1_350, 240, "Europe/Berlin"),
      ("00:00-23:59 UTC", 0, 1_439, "UTC"), ("00:01-00:00 Etc/GMT+5", 1, 0, "Etc/GMT+5"),
    ])
  func window(text: String, begin: Int, end: Int, zone: String) throws {
    let window = try #require(parseWindow(text))
    #expect(window == MaintenanceWindow(begin: begin, end: end, zone: zone))
    #expect(parseWindow(window.description) == window)
  }

  @Test(
    "refused windows of maintenance",
    arguments: [
      "", "02:00", "02:00-", "-05:00", "2:00-5:00", "02:00-02:00", "24:00-01:00", "02:60-03:00",
      "02:00-05:00-06:00", "02:00 - 05:00", "02:00-05:00 ", "02:00-05:00  UTC",
      "02:00-05:00 Europe/Berlin x", "02:00-05:00 Europe'Berlin", "0200-0500", "+2:00-05:00",
      "always",
    ])
  func noWindow(text: String) {
    #expect(parseWindow(text) == nil)
  }

  @Test("a window is open from its begin until its end, also over midnight")
  func openWindow() {
    let night = MaintenanceWindow(begin: 120, end: 300)
    #expect(night.secondsLeft(at: 7_199) == nil)
    #expect(night.secondsLeft(at: 7_200) == 10_800)
    #expect(night.secondsLeft(at: 17_999) == 1)
    #expect(night.secondsLeft(at: 18_000) == nil)
    let late = MaintenanceWindow(begin: 1_380, end: 60)
    #expect(late.secondsLeft(at: 82_799) == nil)
    #expect(late.secondsLeft(at: 82_800) == 7_200)
    #expect(late.secondsLeft(at: 86_399) == 3_601)
    #expect(late.secondsLeft(at: 0) == 3_600)
    #expect(late.secondsLeft(at: 3_600) == nil)
    #expect(late.secondsLeft(at: 43_200) == nil)
    // All day but a minute.
    let day = MaintenanceWindow(begin: 1, end: 0)
    #expect(day.secondsLeft(at: 0) == nil && day.secondsLeft(at: 59) == nil)
    #expect(day.secondsLeft(at: 60) == 86_340 && day.secondsLeft(at: 86_399) == 1)
  }

  @Test(
    "public URLs",
    arguments: [
      ("https://chat.example.com", "https://chat.example.com"), ("http://a:8080/", "http://a:8080"),
      ("https://a/chat/", "https://a/chat"), ("http://[::1]:80", "http://[::1]:80"),
      ("ftp://a", nil), ("https://", nil), ("https:///a", nil), ("https://a?b", nil),
      ("https://a#b", nil), ("https://a b", nil), ("https://a/\"", nil), ("https://a:0", nil),
      ("https://a:99999", nil), ("a", nil), ("https://user@a", nil),
    ])
  func publicURL(text: String, parsed: String?) {
    #expect(parsePublicURL(text) == parsed)
  }

  @Test(
    "origins",
    arguments: [
      ("*", "*"), ("https://example.com", "https://example.com"),
      ("HTTPS://EXAMPLE.com:444", "https://example.com:444"), ("null", nil),
      ("https://example.com/", nil), ("https://*.example.com", nil), ("example.com", nil),
      ("", nil),
    ])
  func origin(text: String, parsed: String?) {
    #expect(parseOrigin(text) == parsed)
  }

  @Test("connection strings are accepted in libpq's two forms")
  func connectionString() {
    #expect(isConnectionString("postgres:///chat"))
    #expect(isConnectionString("postgresql://a:b@c:1/d?sslmode=require"))
    #expect(isConnectionString("host=/run/postgresql dbname=chat"))
    #expect(!isConnectionString("mysql://a/b?c=d"))
    #expect(!isConnectionString("chat"))
    #expect(!isConnectionString("host=a\u{0}"))
  }
}

extension ValueParsingTests {
  @Test("ports", arguments: [("443", 443...443), ("8000-8999", 8_000...8_999), ("1-1", 1...1)])
  func ports(text: String, expected: ClosedRange<Int>) {
    #expect(parsePorts(text) == expected)
  }

  @Test("refused ports", arguments: ["", "0", "65536", "9-8", "1-2-3", "-1", "a", "80-", "8O"])
  func noPorts(text: String) {
    #expect(parsePorts(text) == nil)
  }

  @Test("a key is long and has enough different characters")
  func keys() {
    #expect(parseKeyText("0123456789abcdefghijklmnopqrstuv") != nil)
    #expect(parseKeyText("0123456789abcdefghijklmnopqrstu") == nil)
    #expect(parseKeyText(String(repeating: "a", count: 64)) == nil)
  }
}

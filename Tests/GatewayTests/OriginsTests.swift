/// Origin checks of a WebSocket before the upgrade.
import Primitives
import Settings
import Testing
import Wire

@testable import Gateway

@Suite("Origins (faults A01 to A05)")
struct OriginsTests {
  private func make(_ change: (inout Settings) -> Void = { _ in }) -> Origins {
    var settings = Settings()
    change(&settings)
    var origins = Origins(settings)
    origins.load(["https://good.com", "http://shop.test:8080"], hasOpenWorkspace: false)
    return origins
  }

  private func evaluate(
    _ origins: Origins, _ given: [String], host: String = "chat.test", hasCookie: Bool = false,
    isSecure: Bool = false
  ) throws -> Origins.Decision {
    let fields = given.map { "Origin: \($0)\r\n" }.joined()
    let head = try Array("GET / HTTP/1.1\r\nHost: \(host)\r\n\(fields)\r\n".utf8).withRawSpan {
      try RequestHead.parse($0)
    }
    return origins.evaluate(head, hasCookie: hasCookie, isSecure: isSecure)
  }

  private func passes(_ decision: Origins.Decision) -> Bool {
    if case .admitted = decision { return true }
    return false
  }

  @Test(
    "only exact origins pass, in any letter case and with the scheme's default port",
    arguments: [
      ("https://good.com", true), ("HTTPS://GOOD.COM", true), ("https://good.com:443", true),
      ("http://good.com", false), ("https://good.com.evil.com", false),
      ("https://evilgood.com", false), ("https://good.com:444", false), ("null", false),
      ("", false), ("http://shop.test:8080", true), ("http://shop.test", false),
      ("https://chat.test", true), ("http://chat.test", true), ("http://chat.test:81", false),
      ("https://good.com/", false), ("https://good.com@evil.com", false),
      ("https://good.com, https://good.com", false), ("https://gооd.com", false),
      ("good.com", false), ("https://*.com", false),
    ])
  func exact(_ pair: (String, Bool)) throws {
    #expect(passes(try evaluate(make(), [pair.0])) == pair.1)
  }

  @Test("two Origin fields never pass; a missing one passes unless an origin is required")
  func counts() throws {
    #expect(!passes(try evaluate(make(), ["https://good.com", "https://good.com"])))
    #expect(try evaluate(make(), []) == .admitted(nil))
    #expect(!passes(try evaluate(make { $0.requireOrigin = true }, [])))
  }

  @Test("while a workspace has no list, the settings apply; null is never an origin")
  func open() throws {
    var any = make()
    any.load([], hasOpenWorkspace: true)
    #expect(try evaluate(any, ["https://Anything.test:443"]) == .admitted("https://anything.test"))
    for text in ["null", "", "file://", "https://a b"] {
      #expect(!passes(try evaluate(any, [text])))
    }
    var some = make { $0.allowedOrigins = ["https://one.test"] }
    some.load([], hasOpenWorkspace: true)
    #expect(passes(try evaluate(some, ["https://one.test"])))
    #expect(!passes(try evaluate(some, ["https://two.test"])))
  }

  @Test("the console's cookie passes only with an origin of the gateway")
  func cookie() throws {
    var any = make { $0.publicURL = "https://public.test/chat" }
    any.load([], hasOpenWorkspace: true)
    #expect(!passes(try evaluate(any, ["https://good.com"], hasCookie: true)))
    #expect(!passes(try evaluate(any, [], hasCookie: true)))
    for own in ["https://public.test", "http://chat.test"] {
      #expect(passes(try evaluate(any, [own], hasCookie: true)))
    }
    #expect(!passes(try evaluate(any, ["http://chat.test"], hasCookie: true, isSecure: true)))
  }

  @Test("until the lists are loaded, only the gateway's own pages and non-browser clients pass")
  func unknown() throws {
    let fresh = Origins(Settings())
    #expect(try evaluate(fresh, ["https://good.com"]) == .unknown)
    #expect(try evaluate(fresh, []) == .admitted(nil))
    #expect(passes(try evaluate(fresh, ["http://chat.test"])))
  }
}

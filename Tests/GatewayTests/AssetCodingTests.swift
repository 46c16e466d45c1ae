/// Assets in each content coding: equal contents, separate entity tags, and cache lifetimes.
import Compression
import Primitives
import Testing
import Wire

@testable import Gateway

@Suite("Content codings of assets", .serialized)
struct AssetCodingTests {
  private static let assets = Assets(values: [:])

  @Test(
    "the gzip form is smaller, has its own tag, decodes to the plain bytes, and is compressed once")
  func forms() throws {
    let script = try #require(Self.assets["/widget.js"])
    let packed = try #require(script.codings[.gzip])
    #expect(packed.bytes.count < script.plain.bytes.count * 2 / 3)
    #expect(packed.entityTag != script.plain.entityTag)
    // RFC 1952: a header of 10 bytes comes before the deflate data and a trailer of 8 bytes after
    // it. The 0 byte ends the message for an inflater of RFC 7692.
    let data = Array(packed.bytes[10..<packed.bytes.count - 8]) + [0]
    var inflater = Inflater(windowBits: 15)
    var page: [UInt8] = []
    try data.withRawSpan { span in
      try inflater.inflate(span, keepsContext: false, limit: 1 << 20, to: &page)
    }
    #expect(page == script.plain.bytes)
    #expect(Assets(values: [:])["/widget.js"]?.codings[.gzip]?.bytes == packed.bytes)
  }

  @Test("each form has its own fields, and an entity tag matches its own form only")
  func negotiation() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let script = try #require(Self.assets["/widget.js"])
    func ask(_ fields: String) throws -> String {
      let client = try RawClient(port: gateway.port)
      try client.send(
        "HEAD /widget.js HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\(fields)\r\n")
      return try client.readToEnd().lowercased()
    }
    for (accept, coding) in [
      ("", nil), ("Accept-Encoding: gzip, br\r\n", .brotli),
      ("Accept-Encoding: gzip\r\n", .gzip), ("Accept-Encoding: br;q=0.5, gzip\r\n", .gzip),
      ("Accept-Encoding: gzip;q=0\r\n", nil),
    ] as [(String, AcceptEncoding.Coding?)] {
      let form = try #require(coding.map { script.codings[$0] } ?? script.plain)
      let whole = try ask(accept)
      #expect(whole.hasPrefix("http/1.1 200"))
      #expect(whole.contains("\r\nvary: accept-encoding"))
      #expect(
        whole.contains("\r\ncontent-encoding: \(coding?.rawValue ?? "")\r\n") == (coding != nil))
      #expect(whole.contains("\r\netag: \(form.entityTag)\r\n"))
      #expect(whole.contains("\r\ncontent-length: \(form.bytes.count)\r\n"))
      let known = try ask(accept + "If-None-Match: W/\(form.entityTag)\r\n")
      #expect(known.hasPrefix("http/1.1 304") && known.contains("\r\nvary: accept-encoding"))
      for other in [script.plain] + script.codings.values where other.entityTag != form.entityTag {
        let stale = try ask(accept + "If-None-Match: \(other.entityTag)\r\n")
        #expect(stale.hasPrefix("http/1.1 200"))
      }
    }
  }

  @Test("assets with a content hash in the name are immutable; pages are never cached")
  func caching() throws {
    let page = try #require(Self.assets["/console"])
    #expect(page.caching == .never)
    #expect(Self.assets["/widget.js"]?.caching == .briefly)
    let text = String(decoding: page.plain.bytes, as: UTF8.self)
    let path = try #require(text.firstMatch(of: /src="(\/assets\/console-[0-9a-f]{10}\.js)"/)).1
    #expect(Self.assets[String(path)]?.caching == .forever)
  }

  @Test("a path with another version's hash returns the current file, uncached")
  func otherVersion() throws {
    let other = try #require(Self.assets["/assets/widget-app-0000000000.js"])
    #expect(other.caching == .never)
    #expect(other.contentType.hasPrefix("text/javascript"))
    for path in [
      "/assets/widget-app.js", "/assets/widget-app-.js", "/assets/widget-app-00000000.js",
      "/assets/widget-app-0000000000", "/assets/nothing-0000000000.js",
      "/assets/widget-app-000000000x.js", "/widget-0000000000.js",
    ] {
      #expect(Self.assets[path] == nil, "\(path)")
    }
  }
}

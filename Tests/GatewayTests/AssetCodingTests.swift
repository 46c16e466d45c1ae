/// The pages as gzip: for who wants it, with an entity tag of its own, and the same page.
import Compression
import Primitives
import Testing

@testable import Gateway

@Suite("assets in two codings", .serialized)
struct AssetCodingTests {
  private static let assets = Assets(values: [:])

  @Test("what gains nothing has no second form; the others are the same page, packed once")
  func forms() throws {
    let script = try #require(Self.assets["/widget.js"])
    let packed = try #require(script.gzip)
    #expect(packed.bytes.count < script.plain.bytes.count * 2 / 3)
    #expect(packed.entityTag != script.plain.entityTag)
    // RFC 1952: ten bytes before the deflated data and eight behind; a byte of 0 ends the message
    // that an inflater of RFC 7692 expects.
    let data = Array(packed.bytes[10..<packed.bytes.count - 8]) + [0]
    var inflater = Inflater(windowBits: 15)
    var page: [UInt8] = []
    try data.withRawSpan { span in
      try inflater.inflate(span, keepsContext: false, limit: 1 << 20, to: &page)
    }
    #expect(page == script.plain.bytes)
    #expect(Assets(values: [:])["/widget.js"]?.gzip?.bytes == packed.bytes)
  }

  @Test("each form has its fields, and a tag is good for its own form only")
  func negotiation() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let script = try #require(Self.assets["/widget.js"])
    let packed = try #require(script.gzip)
    func ask(_ fields: String) throws -> String {
      let client = try RawClient(port: gateway.port)
      try client.send(
        "HEAD /widget.js HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\(fields)\r\n")
      return try client.readToEnd().lowercased()
    }
    for (accept, isPacked) in [
      ("", false), ("Accept-Encoding: gzip, br\r\n", true),
      ("Accept-Encoding: gzip;q=0\r\n", false),
    ] {
      let form = isPacked ? packed : script.plain
      let other = isPacked ? script.plain : packed
      let whole = try ask(accept)
      #expect(whole.hasPrefix("http/1.1 200"))
      #expect(whole.contains("\r\nvary: accept-encoding"))
      #expect(whole.contains("\r\ncontent-encoding: gzip") == isPacked)
      #expect(whole.contains("\r\netag: \(form.entityTag)\r\n"))
      #expect(whole.contains("\r\ncontent-length: \(form.bytes.count)\r\n"))
      let known = try ask(accept + "If-None-Match: W/\(form.entityTag)\r\n")
      #expect(known.hasPrefix("http/1.1 304") && known.contains("\r\nvary: accept-encoding"))
      let stale = try ask(accept + "If-None-Match: \(other.entityTag)\r\n")
      #expect(stale.hasPrefix("http/1.1 200"))
    }
  }
}

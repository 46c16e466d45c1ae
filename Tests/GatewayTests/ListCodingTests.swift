/// Lists over REST are compressed if the client accepts it; no other answer of the API is.
import Compression
import JSON
import Primitives
import REST
import Testing
import Wire

@testable import Gateway

@Suite("Content coding of lists")
struct ListCodingTests {
  private static func route(_ method: String, _ path: String) throws -> Int {
    try #require(
      (0..<1_000).first { index in
        API.routePattern(index).map { $0.method == method && $0.path == path } ?? false
      })
  }

  @Test("lists for members are compressed; secrets, notes and visitors' answers are not")
  func routes() throws {
    let lists = [
      "/api/v1/admin/live-chat/conversations", "/api/v1/admin/members", "/api/v1/admin/tags",
    ]
    for path in lists { #expect(API.isList(try Self.route("GET", path)), "\(path)") }
    let others = [
      // A visitor's texts beside notes.
      ("GET", "/api/v1/admin/live-chat/conversations/{id}/messages"),
      ("GET", "/api/v1/admin/live-chat/messages/search"),
      ("POST", "/api/v1/auth/token"), ("POST", "/api/v1/auth/login"),
      ("GET", "/api/v1/admin/live-chat/conversations/{id}"), ("GET", "/api/v1/widget/config"),
      ("POST", "/api/v1/admin/api-keys"), ("GET", "/api/v1/openapi.json"),
    ]
    for (method, path) in others {
      #expect(!API.isList(try Self.route(method, path)), "\(method) \(path)")
    }
    #expect(!API.isList(-1) && !API.isList(.max))
  }

  @Test("a long list is sent with gzip to a client that accepts it, with a head of random length")
  func compressed() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    for _ in 0..<20 { _ = try gateway.visitor() }
    let token = try gateway.operatorToken()
    func list(_ fields: String, limit: Int = 50) throws -> (head: String, body: [UInt8]) {
      let client = try RawClient(port: gateway.port)
      try client.send(
        "GET /api/v1/admin/live-chat/conversations?limit=\(limit) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
          + "Authorization: Bearer \(token)\r\nConnection: close\r\n\(fields)\r\n")
      _ = try client.readToEnd()
      let bytes = client.heard
      let end = try #require(bytes.firstRange(of: Array("\r\n\r\n".utf8)))
      return (
        String(decoding: bytes[..<end.lowerBound], as: UTF8.self).lowercased(),
        Array(bytes[end.upperBound...])
      )
    }
    let plain = try list("")
    #expect(plain.head.contains("\r\nvary: accept-encoding"))
    #expect(!plain.head.contains("content-encoding"))
    #expect(plain.body.count > 5_000)
    var lengths: Set<Int> = []
    for _ in 0..<10 {
      let packed = try list("Accept-Encoding: br, gzip\r\n")
      #expect(packed.head.contains("\r\ncontent-encoding: gzip"))
      #expect(packed.head.contains("\r\ncontent-length: \(packed.body.count)\r\n"))
      #expect(packed.body.count < plain.body.count / 3)
      #expect(try Self.inflated(packed.body) == plain.body)
      lengths.insert(packed.body.count)
    }
    #expect(lengths.count > 1)
    #expect(!(try list("Accept-Encoding: gzip;q=0\r\n")).head.contains("content-encoding"))
    let short = try list("Accept-Encoding: gzip\r\n", limit: 1)
    #expect(short.body.count < ListCoding.bytesMin && !short.head.contains("content-encoding"))
  }

  /// RFC 1952 §2.3: a header of 10 bytes, here with a file name, and a trailer of 8 bytes.
  private static func inflated(_ gzip: [UInt8]) throws -> [UInt8] {
    #expect(gzip[3] == 0x08)
    let start = try #require(gzip[10...].firstIndex(of: 0)) + 1
    #expect(start - 11 <= ListCoding.paddingMax)
    let data = Array(gzip[start..<gzip.count - 8]) + [0]
    var inflater = Inflater(windowBits: 15)
    var plain: [UInt8] = []
    try data.withRawSpan { span in
      try inflater.inflate(span, keepsContext: false, limit: 1 << 20, to: &plain)
    }
    return plain
  }
}

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
    try #require((0..<1_000).first { index in
      API.routePattern(index).map { $0.method == method && $0.path == path } ?? false
    })
  }

  @Test("lists for members are compressed, and neither secrets, single objects nor visitors' routes")
  func routes() throws {
    let lists = [
      "/api/v1/admin/live-chat/conversations", "/api/v1/admin/members", "/api/v1/admin/tags",
      "/api/v1/admin/live-chat/conversations/{id}/messages",
    ]
    for path in lists { #expect(API.isList(try Self.route("GET", path)), "\(path)") }
    let others = [
      ("POST", "/api/v1/auth/token"), ("POST", "/api/v1/auth/login"),
      ("GET", "/api/v1/admin/live-chat/conversations/{id}"), ("GET", "/api/v1/widget/config"),
      ("POST", "/api/v1/admin/api-keys"), ("GET", "/api/v1/openapi.json"),
    ]
    for (method, path) in others {
      #expect(!API.isList(try Self.route(method, path)), "\(method) \(path)")
    }
    #expect(!API.isList(-1) && !API.isList(.max))
  }
}

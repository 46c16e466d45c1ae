/// Accept-Encoding (RFC 9110 §12.5.3): when a file is sent as gzip.
import Primitives
import Testing

@testable import Wire

@Suite struct AcceptEncodingTests {
  private static func prefersGzip(_ value: String?) throws -> Bool {
    let field = value.map { "Accept-Encoding: \($0)\r\n" } ?? ""
    let head = try Array("GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n".utf8).withRawSpan {
      (span) throws(HeadFault) in try RequestHead.parse(span)
    }
    return AcceptEncoding.prefersGzip(head.fields)
  }

  @Test(
    "gzip where it is accepted and not second to identity",
    arguments: [
      "gzip", "gzip, deflate, br, zstd", "GZIP", "x-gzip", "*", "gzip;q=0.001", "br, gzip ; q=0.5",
      "gzip;q=1.000", "identity, gzip", "identity;q=0.5, *;q=0.6", "deflate, gzip;q=1.0, *;q=0",
      "gzip;Q=0.3",
    ])
  func accepted(value: String) throws {
    #expect(try Self.prefersGzip(value))
  }

  @Test(
    "the file as it is otherwise",
    arguments: [
      nil, "", "identity", "br", "gzip;q=0", "gzip;q=0.0", "*;q=0", "gzip;q=0, *", "gzipped",
      "identity, gzip;q=0.9", "identity;q=1, *;q=0.5", "gzip;q=2", "gzip;q=1.5", "gzip;q=",
      "gzip;q=0.0001", "gzip;q=x", "gzip;level=9", "gzip;q=-1", ";q=1", "gzip;q=1x",
    ] as [String?])
  func refused(value: String?) throws {
    #expect(try !Self.prefersGzip(value))
  }
}

/// Accept-Encoding (RFC 9110 §12.5.3): in which coding a file is sent.
import Primitives
import Testing

@testable import Wire

@Suite struct AcceptEncodingTests {
  private static func preferred(
    _ value: String?, among codings: [AcceptEncoding.Coding]
  ) throws -> AcceptEncoding.Coding? {
    let field = value.map { "Accept-Encoding: \($0)\r\n" } ?? ""
    let head = try Array("GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n".utf8).withRawSpan {
      (span) throws(HeadFault) in try RequestHead.parse(span)
    }
    return AcceptEncoding.preferred(head.fields, among: codings)
  }

  @Test(
    "gzip is chosen where it is accepted with at least the weight of identity",
    arguments: [
      "gzip", "gzip, deflate, br, zstd", "GZIP", "x-gzip", "*", "gzip;q=0.001", "br, gzip ; q=0.5",
      "gzip;q=1.000", "identity, gzip", "identity;q=0.5, *;q=0.6", "deflate, gzip;q=1.0, *;q=0",
      "gzip;Q=0.3",
    ])
  func accepted(value: String) throws {
    #expect(try Self.preferred(value, among: [.gzip]) == .gzip)
  }

  @Test(
    "otherwise the file is sent uncompressed",
    arguments: [
      nil, "", "identity", "br", "gzip;q=0", "gzip;q=0.0", "*;q=0", "gzip;q=0, *", "gzipped",
      "identity, gzip;q=0.9", "identity;q=1, *;q=0.5", "gzip;q=2", "gzip;q=1.5", "gzip;q=",
      "gzip;q=0.0001", "gzip;q=x", "gzip;level=9", "gzip;q=-1", ";q=1", "gzip;q=1x",
    ] as [String?])
  func refused(value: String?) throws {
    #expect(try Self.preferred(value, among: [.gzip]) == nil)
  }

  @Test(
    "the coding with the greatest weight is chosen, otherwise the server's first",
    arguments: [
      ("gzip, deflate, br, zstd", .brotli), ("gzip, br", .brotli), ("br;q=0.5, gzip", .gzip),
      ("br;q=0, *", .gzip), ("*", .brotli), ("BR", .brotli), ("gzip", .gzip), ("br;q=0", nil),
      ("identity, br;q=0.9", nil), ("br;q=0.001", .brotli), ("identity;q=0.5, gzip;q=0.6", .gzip),
      ("zstd", nil), (nil, nil),
    ] as [(String?, AcceptEncoding.Coding?)])
  func several(value: String?, coding: AcceptEncoding.Coding?) throws {
    #expect(try Self.preferred(value, among: [.brotli, .gzip]) == coding)
  }
}

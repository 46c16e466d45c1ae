import Primitives
import Testing

@testable import ObjectStorage

/// The examples of the Amazon S3 API Reference, “Signature Calculations for the Authorization
/// Header” and “Authenticating Requests: Using Query Parameters”.
@Suite struct S3SignerTests {
  private let signer = S3Signer(
    accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    region: "us-east-1")
  /// 24 May 2013, 00:00:00 UTC.
  private let time = WallTime(microseconds: 1_369_353_600_000_000)
  private let host = ("host", "examplebucket.s3.amazonaws.com")
  private let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  private func signature(
    _ method: String, _ path: String, query: [(String, String)] = [],
    headers: [(String, String)] = [], hash: String? = nil
  ) -> String {
    let hash = hash ?? emptyHash
    let request = S3SignedRequest(
      method: method, path: path, query: query.map { ($0.0, $0.1) },
      headers: headers + [
        host, ("x-amz-content-sha256", hash), ("x-amz-date", "20130524T000000Z"),
      ])
    return signer.authorization(of: request, payloadHash: hash, at: time)
  }

  @Test("GET Object with a range")
  func getObject() {
    #expect(
      signature("GET", "/test.txt", headers: [("range", "bytes=0-9")])
        == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
  }

  @Test("PUT Object with a name that is escaped")
  func putObject() {
    let signed = signature(
      "PUT", "/test$file.text",
      headers: [
        ("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
      ], hash: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
    let expected = "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    #expect(signed.hasSuffix(expected))
  }

  @Test("a query without a value, and one with two names")
  func queries() {
    #expect(
      signature("GET", "/", query: [("lifecycle", "")])
        .hasSuffix("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
    #expect(
      signature("GET", "/", query: [("prefix", "J"), ("max-keys", "2")])
        .hasSuffix("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
  }

  @Test("a presigned GET")
  func presigned() {
    let request = S3SignedRequest(method: "GET", path: "/test.txt", headers: [host])
    #expect(
      signer.presignedQuery(of: request, seconds: 86_400, at: time)
        == "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524"
        + "%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
        + "&X-Amz-SignedHeaders=host"
        + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
  }
}

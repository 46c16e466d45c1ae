/// AWS Signature Version 4 for S3 (“Authenticating Requests”, Amazon S3 API Reference): in the
/// header `Authorization`, and in the query of an address that others may use for a time. Pure.
import OpenSSL
public import Primitives

/// A request as it is signed.
public struct S3SignedRequest: Sendable {
  public var method: String
  /// With `/`, not yet escaped.
  public var path: String
  public var query: [(name: String, value: String)]
  /// Names in lower case; `host` is among them.
  public var headers: [(name: String, value: String)]

  public init(
    method: String, path: String, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)]
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
  }
}

public struct S3Signer: Sendable {
  public static let unsignedPayload = "UNSIGNED-PAYLOAD"
  private static let algorithm = "AWS4-HMAC-SHA256"

  let accessKey: String
  let secretKey: String
  let region: String

  public init(accessKey: String, secretKey: String, region: String) {
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.region = region
  }

  /// The value of the header `Authorization`.
  ///
  /// - Parameter payloadHash: the value of `x-amz-content-sha256`, which is among the headers.
  public func authorization(
    of request: S3SignedRequest, payloadHash: String, at time: WallTime
  ) -> String {
    let signature = signature(of: request, payloadHash: payloadHash, at: time)
    let names = S3Signer.signedHeaders(request)
    return "\(S3Signer.algorithm) Credential=\(accessKey)/\(scope(time)),"
      + "SignedHeaders=\(names),Signature=\(signature)"
  }

  /// The query of an address that needs no header, with its signature.
  public func presignedQuery(
    of request: S3SignedRequest, seconds: Int, at time: WallTime
  ) -> String {
    var request = request
    request.query += [
      ("X-Amz-Algorithm", S3Signer.algorithm),
      ("X-Amz-Credential", "\(accessKey)/\(scope(time))"),
      ("X-Amz-Date", S3Signer.timestamp(time)), ("X-Amz-Expires", "\(seconds)"),
      ("X-Amz-SignedHeaders", S3Signer.signedHeaders(request)),
    ]
    let signature = signature(of: request, payloadHash: S3Signer.unsignedPayload, at: time)
    return S3Signer.canonicalQuery(request.query) + "&X-Amz-Signature=" + signature
  }

  private func signature(
    of request: S3SignedRequest, payloadHash: String, at time: WallTime
  ) -> String {
    let headers = S3Signer.sorted(request.headers)
      .map { "\($0.name):\($0.value)\n" }.joined()
    let canonical = [
      request.method, S3Signer.escaped(request.path, allowing: "/"),
      S3Signer.canonicalQuery(request.query), headers, S3Signer.signedHeaders(request),
      payloadHash,
    ].joined(separator: "\n")
    let toSign = [
      S3Signer.algorithm, S3Signer.timestamp(time), scope(time),
      SHA256.digest(Array(canonical.utf8)).hexadecimal,
    ].joined(separator: "\n")
    var key = Array("AWS4\(secretKey)".utf8)
    for part in [S3Signer.day(time), region, "s3", "aws4_request", toSign] {
      key = HMACSHA256.code(for: Array(part.utf8), key: key)
    }
    return key.hexadecimal
  }

  private func scope(_ time: WallTime) -> String {
    "\(S3Signer.day(time))/\(region)/s3/aws4_request"
  }

  private static func signedHeaders(_ request: S3SignedRequest) -> String {
    sorted(request.headers).map(\.name).joined(separator: ";")
  }

  private static func sorted(
    _ fields: [(name: String, value: String)]
  ) -> [(name: String, value: String)] {
    fields.sorted { ($0.name, $0.value) < ($1.name, $1.value) }
  }

  /// Sorted by the escaped names, as the server sorts them.
  static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
    sorted(query.map { (escaped($0.name), escaped($0.value)) })
      .map { "\($0.name)=\($0.value)" }.joined(separator: "&")
  }

  /// For example `20130524T000000Z`.
  static func timestamp(_ time: WallTime) -> String {
    let text = time.description.filter { $0 != "-" && $0 != ":" }
    return String(text.prefix(15)) + "Z"
  }

  private static func day(_ time: WallTime) -> String { String(timestamp(time).prefix(8)) }

  /// As `percentEncoded`, with digits in upper case: the signature includes them.
  static func escaped(_ text: String, allowing allowed: String = "") -> String {
    var result: [UInt8] = []
    for byte in text.utf8 {
      if byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte)
        || allowed.utf8.contains(byte)
      {
        result.append(byte)
      } else {
        result += [UInt8(ascii: "%")] + [byte].hexadecimal.uppercased().utf8
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

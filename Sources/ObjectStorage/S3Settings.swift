/// Where the objects are: a server of the S3 protocol, a bucket, and the keys to it.
import Primitives

public struct S3Settings: Sendable {
  public var endpoint: S3Endpoint
  public var region: String
  public var bucket: String
  public var accessKey: String
  public var secretKey: String
  /// `https://HOST/BUCKET/KEY`, which own servers expect; else `https://BUCKET.HOST/KEY`.
  public var isPathStyle: Bool
  /// A PEM file of certificates to trust instead of the system's.
  public var authority: String?

  public init(
    endpoint: S3Endpoint, region: String, bucket: String, accessKey: String, secretKey: String,
    isPathStyle: Bool, authority: String? = nil
  ) {
    self.endpoint = endpoint
    self.region = region
    self.bucket = bucket
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.isPathStyle = isPathStyle
    self.authority = authority
  }

  /// The header `host`.
  var host: String { isPathStyle ? endpoint.authority : "\(bucket).\(endpoint.authority)" }

  /// Of an object, or of the bucket with an empty key; not escaped.
  func path(of key: String) -> String { isPathStyle ? "/\(bucket)/\(key)" : "/\(key)" }

  func url(path: String, query: String) -> String {
    "\(endpoint.scheme)://\(host)\(S3Signer.escaped(path, allowing: "/"))"
      + (query.isEmpty ? "" : "?\(query)")
  }

  /// The rules of Amazon for names of buckets, which other servers follow: 3 to 63 lower-case
  /// letters, digits, dots and hyphens.
  public static func isBucketName(_ text: String) -> Bool {
    (3...63).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        $0.isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
          || "-.".utf8.contains($0)
      }
  }
}

/// `https://s3.eu-central-1.amazonaws.com`, `http://127.0.0.1:9000`: scheme, host and port alone.
public struct S3Endpoint: Equatable, Sendable {
  public let scheme: String
  /// Host, and the port unless it is the scheme's own, as the header `host` has it.
  public let authority: String

  /// Nil for another scheme, and for an address with a user, a path or a query.
  public init?(_ text: String) {
    guard let schemeEnd = text.firstRange(of: "://") else { return nil }
    scheme = text[..<schemeEnd.lowerBound].lowercased()
    guard scheme == "https" || scheme == "http" else { return nil }
    var rest = text[schemeEnd.upperBound...]
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    let isPlain = rest.utf8.allSatisfy {
      $0.isASCIILetter || $0.isASCIIDigit || "-._:[]".utf8.contains($0)
    }
    guard isPlain, let place = HostAndPort(rest), !place.host.isEmpty,
      place.portText == nil || place.port != nil
    else { return nil }
    let host = place.isBracketed ? "[\(place.host)]" : place.host.lowercased()
    let own: UInt16 = scheme == "https" ? 443 : 80
    authority = place.port.map { $0 == own ? host : "\(host):\($0)" } ?? host
  }
}

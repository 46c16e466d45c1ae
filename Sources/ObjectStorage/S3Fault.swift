/// Why the storage did not do what it was asked to do.
import Kernel

public struct S3Fault: Error, Equatable, Sendable, CustomStringConvertible {
  public enum Kind: Equatable, Sendable {
    /// There is no such object.
    case notFound
    case noBucket
    /// The access key is unknown, or the secret key is another one.
    case keyRefused
    /// The key is right and has no right to do this.
    case accessDenied
    /// The clocks of gateway and server differ by more than the server accepts, 15 minutes.
    case clockSkew
    case wrongRegion
    /// The server fails, or wants fewer requests; all attempts are used up.
    case busy
    /// No answer: name, connection, TLS or time.
    case unreachable
    /// The local file cannot be read.
    case file
    case other
  }

  public var kind: Kind
  /// For the log: without keys, signatures and names of objects.
  public var description: String

  /// Whether the same request may succeed later without a change of the settings.
  public var isTransient: Bool { kind == .busy || kind == .unreachable }

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  init(_ errno: Errno) {
    self.init(.file, "the file cannot be read: \(errno)")
  }

  /// The fault that an answer means.
  ///
  /// - Parameters:
  ///   - code: the element `Code` of the body; empty where there is none.
  ///   - region: the header `x-amz-bucket-region`.
  init(status: Int, code: String, region: String?, isOfObject: Bool) {
    let answer = code.isEmpty ? "status \(status)" : "status \(status), \(code)"
    switch (status, code) {
    case (_, "NoSuchBucket"): self.init(.noBucket, "the bucket does not exist (\(answer))")
    case (_, "InvalidAccessKeyId"), (_, "SignatureDoesNotMatch"):
      self.init(.keyRefused, "the access key or the secret key is wrong (\(answer))")
    case (_, "RequestTimeTooSkewed"), (_, "RequestExpired"):
      self.init(.clockSkew, "the server's clock differs from this one's (\(answer))")
    case (301, _), (307, _), (_, "AuthorizationHeaderMalformed"), (_, "PermanentRedirect"):
      let hint = region.map { ": it is \($0)" } ?? ""
      self.init(.wrongRegion, "the bucket is in another region\(hint) (\(answer))")
    case (404, "") where !isOfObject: self.init(.noBucket, "the bucket does not exist (\(answer))")
    case (404, _): self.init(.notFound, "the object does not exist (\(answer))")
    case (401, _), (403, _):
      self.init(.accessDenied, "the key has no right to do this (\(answer))")
    case (429, _), (500..., _), (_, "SlowDown"), (_, "InternalError"), (_, "RequestTimeout"):
      self.init(.busy, "the server fails or is busy (\(answer))")
    default: self.init(.other, "the server refused the request (\(answer))")
    }
  }
}

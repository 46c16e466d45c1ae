/// Objects in a bucket of an S3 server. All functions block: they are for worker threads.
///
/// Every request is signed with the hash of its body, so a server stores what the file contains or
/// refuses it. A request that fails by the network or the server is sent again, up to
/// `attemptsMax` times; what the server refuses for good is a fault at once.
public import Kernel
import OpenSSL
public import Primitives
import Synchronization

public final class S3Client: Sendable {
  /// The most bytes that `read` returns at once.
  public static let readBytesMax = 8 << 20
  /// A presigned address may be valid for a week (S3's own limit).
  public static let presignedSecondsMax = 604_800
  static let attemptsMax = 4
  static let firstDelayMilliseconds: Int64 = 200
  static let lastDelayMilliseconds: Int64 = 3_000
  /// A server's Retry-After counts up to here.
  static let retryAfterSecondsMax: Int64 = 10
  /// Pieces in which a file is read for its hash.
  static let hashBytes = 65_536

  public let settings: S3Settings
  let signer: S3Signer
  let connections: S3Connections
  /// Above this size an object is uploaded in parts of this size; a constant but for tests.
  let partBytes: Int64
  private let attempts = Atomic<UInt64>(0)

  public convenience init(_ settings: S3Settings) {
    self.init(settings, partBytes: S3Client.partBytes)
  }

  init(_ settings: S3Settings, partBytes: Int64) {
    self.settings = settings
    self.partBytes = partBytes
    signer = S3Signer(
      accessKey: settings.accessKey, secretKey: settings.secretKey, region: settings.region)
    connections = S3Connections()
  }

  /// Stores a file under a key, and replaces an object of that key. When it returns, the server has
  /// confirmed all bytes.
  public func put(_ file: ReadableFile, key: String) throws(S3Fault) {
    if file.byteCount > partBytes {
      try putInParts(file, key: key)
    } else {
      var call = S3Call("PUT", path: settings.path(of: key))
      call.headers = [("content-type", S3Client.contentType)]
      call.body = .file(file, offset: 0, count: file.byteCount)
      _ = try perform(call)
    }
  }

  /// The size of an object; nil without one.
  public func size(of key: String) throws(S3Fault) -> Int64? {
    do throws(S3Fault) {
      let answer = try perform(S3Call("HEAD", path: settings.path(of: key)))
      guard let size = answer.fields["content-length"].flatMap({ Int64($0) }) else {
        throw S3Fault(.other, "the server did not tell the size of an object")
      }
      return size
    } catch {
      if error.kind == .notFound { return nil }
      throw error
    }
  }

  /// The bytes from `offset` on; fewer than `count` only at the end of the object.
  public func read(_ key: String, from offset: Int64, count: Int) throws(S3Fault) -> [UInt8] {
    precondition((1...S3Client.readBytesMax).contains(count) && offset >= 0, "a range is bounded")
    var call = S3Call("GET", path: settings.path(of: key))
    call.headers = [("range", "bytes=\(offset)-\(offset + Int64(count) - 1)")]
    call.answerBytesMax = count
    call.isRanged = true
    let answer = try perform(call)
    // A server that knows no ranges answers 200 with the whole object, which fits if it is small.
    let isFromStart = answer.status != 200 || offset == 0
    guard isFromStart else { throw S3Fault(.other, "the server did not answer with the range") }
    return answer.status == 416 ? [] : Array(answer.body.prefix(count))
  }

  /// Removes an object; there need not be one.
  public func delete(_ key: String) throws(S3Fault) {
    do throws(S3Fault) {
      _ = try perform(S3Call("DELETE", path: settings.path(of: key)))
    } catch {
      if error.kind != .notFound { throw error }
    }
  }

  /// Whether the bucket exists and the key may use it.
  public func checkBucket() throws(S3Fault) {
    // A GET, because the answer to HEAD has no body that could tell the reason of a refusal.
    var call = S3Call("GET", path: settings.path(of: ""))
    call.query = [("list-type", "2"), ("max-keys", "1")]
    call.isOfObject = false
    _ = try perform(call)
  }

  /// An address that anyone may read the object from, for `seconds`.
  public func presignedAddress(of key: String, seconds: Int, at time: WallTime) -> String {
    let path = settings.path(of: key)
    let request = S3SignedRequest(
      method: "GET", path: path, headers: [("host", settings.host)])
    let query = signer.presignedQuery(
      of: request, seconds: min(max(1, seconds), S3Client.presignedSecondsMax), at: time)
    return settings.url(path: path, query: query)
  }

  /// Objects are served by the gateway, which knows their types. A bucket that is public by mistake
  /// then shows no page either.
  static let contentType = "application/octet-stream"

  /// Seeds the delays of one request, so that many uploads do not retry in step.
  func nextSeed() -> UInt64 {
    attempts.add(1, ordering: .relaxed).newValue &* 0x9E37_79B9_7F4A_7C15
  }
}

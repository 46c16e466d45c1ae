/// One request to the storage: signing, sending, retries, and the fault that an answer means.
import HTTPClient
import Kernel
import OpenSSL
import Primitives
import Synchronization

struct S3Call {
  enum Body {
    case none
    case bytes([UInt8])
    case file(ReadableFile, offset: Int64, count: Int64)
  }

  var method: String
  var path: String
  var query: [(name: String, value: String)] = []
  /// Names in lower case, without `host` and those of the signature.
  var headers: [(name: String, value: String)] = []
  var body = Body.none
  var answerBytesMax = S3Document.bytesMax
  /// 416 is an answer too: the range is behind the end.
  var isRanged = false
  /// A 404 means the object and not the bucket.
  var isOfObject = true

  init(_ method: String, path: String) {
    self.method = method
    self.path = path
  }

  /// The time limit of one attempt: a slow line carries 8 MiB at 1 Mbit/s within it.
  static let milliseconds = 90_000
}

struct S3Answer: Sendable {
  var status = 0
  var body: [UInt8] = []
  /// Names in lower case.
  var fields: [String: String] = [:]
}

extension S3Client {
  /// Sends a request until it succeeds, is refused for good, or all attempts are used up.
  func perform(_ call: S3Call) throws(S3Fault) -> S3Answer {
    let hash = try payloadHash(of: call.body)
    var backoff = Backoff(
      firstMilliseconds: S3Client.firstDelayMilliseconds,
      lastMilliseconds: S3Client.lastDelayMilliseconds, seed: nextSeed())
    while true {
      let fault: S3Fault
      var retryAfter: Int64 = 0
      do throws(S3Fault) {
        return try attempt(call, payloadHash: hash, retryAfter: &retryAfter)
      } catch {
        fault = error
      }
      let next = backoff.next(after: .zero).milliseconds(since: .zero)
      guard fault.isTransient, backoff.attempts < S3Client.attemptsMax else { throw fault }
      let wanted = min(retryAfter, S3Client.retryAfterSecondsMax) * 1_000
      Thread.sleep(milliseconds: max(next, wanted))
    }
  }

  private func attempt(
    _ call: S3Call, payloadHash: String, retryAfter: inout Int64
  ) throws(S3Fault) -> S3Answer {
    let head = Mutex<[String: String]>([:])
    let request = signed(call, payloadHash: payloadHash) { name, value in
      head.withLock { $0[name] = value }
    }
    switch connections.outcome(of: request) {
    case .answered(let status, let body, let seconds):
      let fields = head.withLock { $0 }
      if (200...299).contains(status) || status == 416 && call.isRanged {
        return S3Answer(status: status, body: body, fields: fields)
      }
      retryAfter = seconds
      throw S3Fault(
        status: status, code: S3Document(body).text(of: "Code") ?? "",
        region: fields["x-amz-bucket-region"], isOfObject: call.isOfObject)
    case .failed(let reason): throw S3Fault(.unreachable, reason)
    case .refused: throw S3Fault(.unreachable, "the address is refused")
    }
  }

  /// Signed anew for each attempt, because a signature is valid for 15 minutes.
  private func signed(
    _ call: S3Call, payloadHash: String,
    receiveField: @escaping @Sendable (String, String) -> Void
  ) -> HTTPRequest {
    let now = SystemClock.wallTime()
    var headers = call.headers
    headers.append(("x-amz-content-sha256", payloadHash))
    headers.append(("x-amz-date", S3Signer.timestamp(now)))
    let toSign = S3SignedRequest(
      method: call.method, path: call.path, query: call.query,
      headers: headers + [("host", settings.host)])
    headers.append(
      ("authorization", signer.authorization(of: toSign, payloadHash: payloadHash, at: now)))
    // The body of a refusal is read too, and may be longer than that of a short range.
    var request = HTTPRequest(
      url: settings.url(path: call.path, query: S3Signer.canonicalQuery(call.query)),
      headers: headers.map { "\($0.name): \($0.value)" }, body: nil,
      milliseconds: S3Call.milliseconds,
      responseBytesMax: max(call.answerBytesMax, S3Document.bytesMax))
    request.method = HTTPMethod(rawValue: call.method)
    request.authority = settings.authority
    request.receiveField = receiveField
    switch call.body {
    case .none: if call.method == "POST" { request.body = [] }
    case .bytes(let bytes): request.body = bytes
    case .file(let file, let offset, let count):
      request.upload = HTTPUpload(file: file, offset: offset, count: count)
    }
    return request
  }

  private func payloadHash(of body: S3Call.Body) throws(S3Fault) -> String {
    switch body {
    case .none: return SHA256.digest([]).hexadecimal
    case .bytes(let bytes): return SHA256.digest(bytes).hexadecimal
    case .file(let file, let offset, let count):
      var stream = SHA256Stream()
      var position = offset
      while position < offset + count {
        let wanted = Int(min(Int64(S3Client.hashBytes), offset + count - position))
        let piece: [UInt8]
        do throws(Errno) { piece = try file.bytes(at: position, count: wanted) } catch {
          throw S3Fault(error)
        }
        guard piece.count == wanted else { throw S3Fault(.file, "the file was shortened") }
        piece.withRawSpan { stream.update($0) }
        position += Int64(wanted)
      }
      return stream.digest().hexadecimal
    }
  }
}

import Primitives
import Wire

/// The HTTP side of one socket: requests come one behind the other, each answered before the next
/// is read.
///
/// Bounded: a head by `HeadLimits`, a body by `HTTPLimits.bodyBytes`, and both together by
/// `HTTPLimits.requestMilliseconds` from the first byte, which a slow sender cannot stretch (faults
/// H11).
struct HTTPExchange {
  enum Step {
    case needMoreBytes
    case request(RequestHead, body: [UInt8])
    /// The client waits for `100 Continue` before it sends its body (RFC 9110 §10.1.1).
    case expectsContinue
    case fault(status: Int, reason: StaticString)
  }

  private(set) var input: [UInt8] = []
  private var scanner = HeadScanner()
  private var head: RequestHead?
  private var headByteCount = 0
  private var hasContinued = false
  /// Bytes of the answer that the socket has not taken.
  var output: [UInt8] = []
  /// A handler works on the answer; nothing is read meanwhile.
  var isBusy = false
  /// The connection ends when the output is written.
  var isClosing = false
  /// Whether the request that is being answered allows another one.
  var isKeptAlive = false
  /// A HEAD request gets the fields without the body.
  var isHead = false
  /// When the request has to be complete, or the idle connection ends.
  var deadline: Instant

  init(openedAt now: Instant) {
    deadline = now.advanced(byMilliseconds: HTTPLimits.requestMilliseconds)
  }

  mutating func receive(_ bytes: RawSpan) { input.append(bytes) }

  /// Looks for a complete request in what has come.
  mutating func next() -> Step {
    if head == nil {
      do throws(HeadFault) {
        guard
          let count = try input.withRawSpan({ (bytes) throws(HeadFault) in
            try scanner.scan(bytes)
          })
        else { return .needMoreBytes }
        headByteCount = count
        head = try input.withRawSpan { (bytes) throws(HeadFault) in
          try RequestHead.parse(bytes.extracting(0..<count))
        }
      } catch {
        return .fault(status: error.status, reason: error.reason)
      }
    }
    guard let head else { return .needMoreBytes }
    let bodyByteCount = head.contentLength ?? 0
    guard bodyByteCount <= HTTPLimits.bodyBytes else {
      return .fault(status: 413, reason: "a request's body may have 64 KiB")
    }
    guard input.count >= headByteCount + bodyByteCount else {
      if !hasContinued, head.value(of: "expect")?.lowercased() == "100-continue" {
        hasContinued = true
        return .expectsContinue
      }
      return .needMoreBytes
    }
    let body = Array(input[headByteCount..<(headByteCount + bodyByteCount)])
    input.removeFirst(headByteCount + bodyByteCount)
    self.head = nil
    hasContinued = false
    scanner = HeadScanner()
    isKeptAlive = head.isKeepAlive
    isHead = head.method == .head
    return .request(head, body: body)
  }

  /// What came behind an upgrade request belongs to the WebSocket.
  mutating func takeRest() -> [UInt8] {
    defer { input = [] }
    return input
  }

  /// The answer is complete: the next request has a time of its own.
  mutating func finish(now: Instant) {
    isBusy = false
    isClosing = !isKeptAlive
    deadline = now.advanced(
      byMilliseconds: input.isEmpty
        ? HTTPLimits.idleMilliseconds : HTTPLimits.requestMilliseconds)
  }
}

enum HTTPLimits {
  static let bodyBytes = 65_536
  /// Bytes of answers that wait before the next pipelined request is looked at.
  static let outputBytes = 1_048_576
  /// A head and its body have to come within this.
  static let requestMilliseconds: Int64 = 10_000
  /// A kept-alive connection without a request ends after this.
  static let idleMilliseconds: Int64 = 60_000
}

import Primitives
import Wire

/// The HTTP side of one socket: requests come one behind the other, each answered before the next
/// is read.
///
/// Bounded: a head by `HeadLimits`, a body by `HTTPLimits.bodyBytes`, and both together by
/// `HTTPLimits.requestMilliseconds` from the first byte, which a slow sender cannot stretch (faults
/// H11). Every byte is looked at once, however it is cut (H13), and between requests nothing is
/// held.
struct HTTPExchange {
  enum Step {
    case needMoreBytes
    case request(RequestHead, body: [UInt8])
    /// The client waits for `100 Continue` before it sends its body (RFC 9110 §10.1.1).
    case expectsContinue
    case fault(status: Int, reason: StaticString)
  }

  private var input: [UInt8] = []
  /// Where the request begins that is read now: what is before it was answered.
  private var start = 0
  private var scanner = HeadScanner()
  private var head: RequestHead?
  private var headByteCount = 0
  private var hasCheckedLine = false
  private var isContinueDue = false
  /// Kept alive, and nothing of the next request has come.
  private var isIdle = false
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
  /// The request asks for WebSocket where there is none.
  var isMisplacedUpgrade = false
  /// When the request has to be complete, or the idle connection ends.
  var deadline: Instant

  init(openedAt now: Instant) {
    deadline = now.advanced(byMilliseconds: HTTPLimits.requestMilliseconds)
  }

  /// Not a byte has come since the connection was made.
  private(set) var isSilent = true
  /// Bytes that belong to no request yet.
  var hasInput: Bool { start < input.count }

  mutating func receive(_ bytes: RawSpan, now: Instant) {
    if isIdle {
      isIdle = false
      deadline = now.advanced(byMilliseconds: HTTPLimits.requestMilliseconds)
    }
    isSilent = false
    input.append(bytes)
  }

  /// Looks for a complete request in what has come.
  mutating func next() -> Step {
    do throws(HeadFault) {
      try readHead()
    } catch {
      return .fault(status: error.status, reason: error.reason)
    }
    guard let head else { return .needMoreBytes }
    let bodyByteCount = head.contentLength ?? 0
    guard bodyByteCount <= HTTPLimits.bodyBytes else {
      return .fault(status: 413, reason: "a request's body may have 64 KiB")
    }
    let bodyStart = start + headByteCount
    guard input.count >= bodyStart + bodyByteCount else {
      guard isContinueDue, input.count == bodyStart else { return .needMoreBytes }
      isContinueDue = false
      return .expectsContinue
    }
    let body = Array(input[bodyStart..<(bodyStart + bodyByteCount)])
    drop(headByteCount + bodyByteCount)
    self.head = nil
    hasCheckedLine = false
    isContinueDue = false
    scanner = HeadScanner()
    isKeptAlive = head.isKeepAlive
    isHead = head.method == .head
    isMisplacedUpgrade = false
    return .request(head, body: body)
  }

  private mutating func readHead() throws(HeadFault) {
    guard head == nil, start < input.count else { return }
    let count = try input.withRawSpan { (bytes) throws(HeadFault) in
      try scanner.scan(bytes.extracting(start..<bytes.byteCount))
    }
    guard let count else {
      // What is no HTTP/1.1 at all (HTTP/0.9, another protocol) is not waited for.
      guard !hasCheckedLine, let line = scanner.firstLine else { return }
      hasCheckedLine = true
      try input.withRawSpan { (bytes) throws(HeadFault) in
        try RequestHead.check(requestLine: bytes.extracting(start..<bytes.byteCount), line)
      }
      return
    }
    let parsed = try input.withRawSpan { (bytes) throws(HeadFault) in
      try RequestHead.parse(bytes.extracting(start..<start + count))
    }
    headByteCount = count
    head = parsed
    // RFC 9110 §10.1.1: in HTTP/1.0 it is ignored, and nothing else can be expected.
    if parsed.minorVersion >= 1, let expectation = parsed.value(of: "expect") {
      guard expectation.equalsIgnoringASCIICase("100-continue") else { throw .expectationUnknown }
      isContinueDue = true
    }
  }

  /// The bytes of a request are given up in one piece when nothing follows, so that pipelined ones
  /// are not moved again and again.
  private mutating func drop(_ count: Int) {
    start += count
    guard start == input.count || start >= HTTPLimits.bodyBytes else { return }
    input.removeFirst(start)
    start = 0
    if input.isEmpty { input = [] }
  }

  /// What came behind an upgrade request belongs to the WebSocket.
  mutating func takeRest() -> [UInt8] {
    defer {
      input = []
      start = 0
    }
    return start == 0 ? input : Array(input[start...])
  }

  /// A request that failed is answered as a whole, and nothing behind it.
  mutating func fail() {
    isKeptAlive = false
    isHead = false
    isMisplacedUpgrade = false
  }

  /// The answer is complete: now the peer has a time to take it.
  mutating func finish(now: Instant) {
    isBusy = false
    isClosing = !isKeptAlive
    deadline = now.advanced(byMilliseconds: HTTPLimits.idleMilliseconds)
  }

  /// The socket has taken so many bytes of the output. With the last one the next request begins to
  /// have a time of its own.
  mutating func sent(_ count: Int, now: Instant) {
    guard count == output.count else {
      output.removeFirst(count)
      return
    }
    output = []
    guard !isBusy, !isClosing else { return }
    isIdle = !hasInput
    deadline = now.advanced(
      byMilliseconds: isIdle ? HTTPLimits.idleMilliseconds : HTTPLimits.requestMilliseconds)
  }
}

enum HTTPLimits {
  static let bodyBytes = 65_536
  /// Bytes of answers that wait before the next pipelined request is looked at.
  static let outputBytes = 262_144
  /// Pipelined requests of one connection that are answered in one turn of the loop.
  static let requestsPerTurn = 16
  /// A head and its body have to come within this.
  static let requestMilliseconds: Int64 = 10_000
  /// A kept-alive connection without a request ends after this, and one whose peer does not take
  /// its answer.
  static let idleMilliseconds: Int64 = 60_000
}

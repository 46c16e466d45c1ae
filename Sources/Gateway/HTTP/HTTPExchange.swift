import Primitives
import Wire

/// HTTP/1.1 on one socket: pipelined requests in order, each answered before the next is parsed.
///
/// Bounds: `HeadLimits` for a head, `HTTPLimits.bodyBytes` for a body, and
/// `HTTPLimits.requestMilliseconds` from the first byte for both, also for slow senders (faults
/// H11). Each byte is scanned once, however the input is split (H13). Between requests no storage
/// is held.
struct HTTPExchange {
  enum Step {
    case needMoreBytes
    case request(RequestHead, body: [UInt8])
    /// The client waits for `100 Continue` before the body (RFC 9110 §10.1.1).
    case expectsContinue
    case fault(status: Int, reason: StaticString)
  }

  private var input: [UInt8] = []
  /// The offset of the next request in `input`.
  private var start = 0
  private var scanner = HeadScanner()
  private var head: RequestHead?
  private var headByteCount = 0
  private var hasCheckedLine = false
  private var isContinueDue = false
  /// Kept alive, without a byte of the next request.
  private var isIdle = false
  /// Unsent bytes of responses.
  var output: [UInt8] = []
  /// A handler prepares the response; meanwhile nothing is read.
  var isBusy = false
  /// The rest of the response's body, which is not queued yet.
  private var rest = Rest()
  /// The connection is closed when the output is sent.
  var isClosing = false
  /// The output is complete, and the connection stays open until the deadline: see `ProxyProbe`.
  private(set) var isHeld = false
  /// Whether the present request allows another one on its connection.
  var isKeptAlive = false
  /// The present request is HEAD: the response has no body.
  var isHead = false
  /// The present request wants to upgrade at a path without WebSocket.
  var isMisplacedUpgrade = false
  /// The present request in the access log; nil while that is off.
  var access: AccessEntry?
  /// The bytes of the last complete request.
  private(set) var requestByteCount = 0
  /// When the request must be complete, or the idle connection is closed.
  var deadline: Instant

  init(openedAt now: Instant) {
    deadline = now.advanced(byMilliseconds: HTTPLimits.requestMilliseconds)
  }

  /// No byte was received on this connection.
  private(set) var isSilent = true
  /// Whether bytes of an incomplete or unparsed request are held.
  var hasInput: Bool { start < input.count }
  /// Those bytes.
  var heldByteCount: Int { input.count - start }

  mutating func receive(_ bytes: RawSpan, now: Instant) {
    if isIdle {
      isIdle = false
      deadline = now.advanced(byMilliseconds: HTTPLimits.requestMilliseconds)
    }
    isSilent = false
    input.append(bytes)
  }

  /// Parses the next request.
  mutating func next() -> Step {
    do throws(HeadFault) {
      try readHead()
    } catch {
      return .fault(status: error.status, reason: error.reason)
    }
    guard let head else { return .needMoreBytes }
    let bodyByteCount = head.contentLength ?? 0
    guard bodyByteCount <= HTTPLimits.bodyBytes else {
      return .fault(status: 413, reason: "a request's body may have at most 64 KiB")
    }
    let bodyStart = start + headByteCount
    guard input.count >= bodyStart + bodyByteCount else {
      guard isContinueDue, input.count == bodyStart else { return .needMoreBytes }
      isContinueDue = false
      return .expectsContinue
    }
    requestByteCount = headByteCount + bodyByteCount
    let body = Array(input[bodyStart..<(bodyStart + bodyByteCount)])
    drop(requestByteCount)
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
      // Another protocol, or HTTP/0.9, is refused at its first line.
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
    // RFC 9110 §10.1.1: HTTP/1.0 ignores Expect, and 100-continue is its only value.
    if parsed.minorVersion >= 1, let expectation = parsed.value(of: "expect") {
      guard expectation.equalsIgnoringASCIICase("100-continue") else { throw .expectationUnknown }
      isContinueDue = true
    }
  }

  /// Drops the bytes of a request. The array is compacted rarely, so that pipelined requests are
  /// not moved again and again.
  private mutating func drop(_ count: Int) {
    start += count
    guard start == input.count || start >= HTTPLimits.bodyBytes else { return }
    input.removeFirst(start)
    start = 0
    if input.isEmpty { input = [] }
  }

  /// Takes the bytes after an upgrade request, which belong to the WebSocket.
  mutating func takeRest() -> [UInt8] {
    defer {
      input = []
      start = 0
    }
    return start == 0 ? input : Array(input[start...])
  }

  /// The present request failed: its response has a body and closes the connection.
  mutating func fail() {
    isKeptAlive = false
    isHead = false
    isMisplacedUpgrade = false
  }

  /// The response is complete; from now on the peer has limited time to read it.
  mutating func finish(now: Instant) {
    isBusy = false
    isClosing = !isKeptAlive
    deadline = now.advanced(byMilliseconds: HTTPLimits.idleMilliseconds)
  }

  /// Likewise, but the connection is closed at the end of this time only. Nothing is read until
  /// then.
  mutating func hold(milliseconds: Int64, now: Instant) {
    isKeptAlive = false
    finish(now: now)
    isHeld = true
    deadline = now.advanced(byMilliseconds: milliseconds)
  }

  /// The head of a response with a stream is queued. The end of the connection ends the body (RFC
  /// 9112 §6.3, rule 8), which clients and proxies of HTTP/1.0 understand too.
  mutating func beginStream() {
    rest.isStreaming = true
    isKeptAlive = false
  }

  private struct Rest {
    /// The head of a response with a stream was queued, and its end was not.
    var isStreaming = false
    /// The body that is sent in pieces, while not all of them were queued.
    var pieces: Pieces?
  }

  var isStreaming: Bool { rest.isStreaming }

  private struct Pieces {
    var hold: PieceHold
    var remaining: Int64
    /// The loop has asked for the next one.
    var isWanted = false
  }

  var hasPieces: Bool { rest.pieces != nil }

  /// The head of a response is queued, and its body comes in pieces.
  mutating func beginPieces(_ hold: PieceHold, _ byteCount: Int64, now: Instant) {
    rest.pieces = Pieces(hold: hold, remaining: byteCount)
    deadline = now.advanced(byMilliseconds: HTTPLimits.idleMilliseconds)
  }

  /// Asks for the next piece if there is room for it.
  mutating func wantPiece() {
    guard rest.pieces?.isWanted == false, output.count < HTTPLimits.pieceRoomBytes else { return }
    rest.pieces?.isWanted = true
    rest.pieces?.hold.reader.want()
  }

  mutating func takePiece(_ bytes: [UInt8]) {
    output += bytes
    rest.pieces?.isWanted = false
    rest.pieces?.remaining -= Int64(bytes.count)
  }

  /// If bytes are missing, only the end of the connection tells the client.
  mutating func endPieces(now: Instant) {
    if rest.pieces?.remaining != 0 { isKeptAlive = false }
    rest.pieces = nil
    finish(now: now)
  }

  /// Whether a client has read nothing of its pieces for too long.
  func isSlow(_ now: Instant) -> Bool { rest.pieces != nil && !output.isEmpty && now >= deadline }

  mutating func endStream(now: Instant) {
    rest.isStreaming = false
    finish(now: now)
  }

  /// `count` bytes of the output were sent. After the last one the time limit of the next request
  /// begins.
  mutating func sent(_ count: Int, now: Instant) {
    if rest.pieces != nil {
      deadline = now.advanced(byMilliseconds: HTTPLimits.idleMilliseconds)
    }
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
  /// Unsent bytes above which no further pipelined request is parsed.
  static let outputBytes = 262_144
  /// Unsent bytes of a body below which its next piece is read. Its pieces have as many.
  static let pieceRoomBytes = 65_536
  /// Pipelined requests of one connection that are handled in one turn of the loop.
  static let requestsPerTurn = 16
  /// Time for a head and its body.
  static let requestMilliseconds: Int64 = 10_000
  /// Time after which an idle connection is closed, or one whose peer does not read the response.
  static let idleMilliseconds: Int64 = 60_000
}

/// HTTP requests to external servers with libcurl: many at a time, driven by one thread.
///
/// This target is the only importer of libcurl (`MailServer` sends e-mail with it). It sends
/// requests, and returns the status, and the body if the request wants it, up to a limit. HTTPS
/// certificates are verified,
/// redirects are not followed, and proxies and passwords of the environment are ignored.
///
/// `admits` checks every address when its socket is created, so after name resolution: no
/// connection to a refused address is started.
import CCurl
public import Kernel

/// One request.
public struct HTTPRequest: Sendable {
  public var url: String
  /// Each is `Name: value`.
  public var headers: [String]
  /// Nil: POST with a body, GET without one.
  public var method: HTTPMethod?
  public var body: [UInt8]?
  /// A body in a file, instead of `body`; the method is PUT.
  public var upload: HTTPUpload?
  /// The time limit from the name resolution to the last byte.
  public var milliseconds: Int
  /// The most bytes of the response's body to return; a longer one fails. Nil: it is discarded.
  public var responseBytesMax: Int?
  /// Whether it needs a new connection. libcurl sends a request once more by itself if a kept
  /// connection ends without an answer; the server may have taken it both times.
  public var isSentOnce = false
  /// Receives the status and the next bytes of the response's body as they come, on the client's
  /// thread, and returns whether to read on. Nil: the body is collected for the outcome.
  public var receive: (@Sendable (_ status: Int, _ bytes: [UInt8]) -> Bool)?
  /// Receives the fields of the response's head, the name in lower case. Longer lines than
  /// `HTTPClient.headLineBytes` are left out.
  public var receiveField: (@Sendable (_ name: String, _ value: String) -> Void)?
  /// A PEM file of certificates to trust instead of the system's.
  public var authority: String?

  public init(
    url: String, headers: [String], body: [UInt8]?, milliseconds: Int,
    responseBytesMax: Int? = nil,
    receive: (@Sendable (_ status: Int, _ bytes: [UInt8]) -> Bool)? = nil
  ) {
    self.url = url
    self.headers = headers
    self.body = body
    self.milliseconds = milliseconds
    self.responseBytesMax = responseBytesMax
    self.receive = receive
  }
}

public enum HTTPMethod: String, Sendable {
  case get = "GET"
  case head = "HEAD"
  case post = "POST"
  case put = "PUT"
  case delete = "DELETE"
}

/// A part of a file as a body. It is read in pieces of libcurl's buffer, 64 KiB.
public struct HTTPUpload: Sendable {
  public var file: ReadableFile
  public var offset: Int64
  public var count: Int64

  public init(file: ReadableFile, offset: Int64, count: Int64) {
    self.file = file
    self.offset = offset
    self.count = count
  }
}

/// The result of a request.
public enum HTTPOutcome: Sendable, Equatable {
  /// `retryAfter` is the header Retry-After (RFC 9110 §10.2.3) in seconds, 0 without it.
  case answered(status: Int, body: [UInt8] = [], retryAfter: Int64 = 0)
  /// `admits` refused all addresses of the host.
  case refused(IPAddress)
  /// No answer; the reason is libcurl's message, or one of those of `HTTPClient`.
  case failed(reason: String)
}

public struct HTTPClient: ~Copyable {
  /// Bytes of a body that nobody wants to read and discard; then the connection is closed.
  public static let bodyBytes = 4_096
  /// The reason of a request whose answer is longer than it wants.
  public static func longAnswer(_ bytesMax: Int) -> String {
    "the response has more than \(bytesMax) bytes"
  }

  /// The reason of a request that took longer than it may.
  public static let timeIsUp = "no answer within the time limit"

  /// The longest line of a response's head that `receiveField` gets.
  static let headLineBytes = 8_192
  /// Connections kept open for later requests.
  static let connectionsKept = 16

  private let multi: MultiHandle
  private let admits: @Sendable (PeerAddress) -> Bool
  /// Transfers by the address of their handles.
  private var transfers: [UInt: Transfer] = [:]

  /// - Parameter admits: whether a connection to this address is allowed.
  public init(connectionsMax: Int, admits: @escaping @Sendable (PeerAddress) -> Bool) {
    multi = MultiHandle(connectionsMax: connectionsMax)
    self.admits = admits
  }

  deinit {
    for transfer in transfers.values { unsafe multi.remove(transfer.raw) }
  }

  /// The number of requests in progress.
  public var count: Int { transfers.count }

  /// Starts a request; `takeEnded` returns its outcome with `ticket`.
  ///
  /// - Returns: false when it cannot start, for example because of an invalid URL.
  public mutating func begin(_ request: HTTPRequest, ticket: UInt64) -> Bool {
    guard let transfer = Transfer(request, ticket: ticket, admits: admits) else { return false }
    guard unsafe multi.add(transfer.raw) else { return false }
    transfers[transfer.key] = transfer
    return true
  }

  /// Waits for events, at most `milliseconds`, and processes them.
  ///
  /// - Parameter wakeup: a descriptor that ends the wait when it is readable.
  public mutating func advance(milliseconds: Int32, wakeup: Int32? = nil) {
    if multi.perform() == transfers.count {
      multi.wait(milliseconds: milliseconds, wakeup: wakeup)
      _ = multi.perform()
    }
  }

  public mutating func takeEnded() -> (ticket: UInt64, outcome: HTTPOutcome)? {
    takeSent().map { ($0.ticket, $0.outcome) }
  }

  /// The same, and whether any byte of the request was sent: otherwise the server has nothing of
  /// it, whatever the outcome is.
  public mutating func takeSent() -> (ticket: UInt64, outcome: HTTPOutcome, wasSent: Bool)? {
    guard let (key, result) = multi.takeEnded(),
      let transfer = transfers.removeValue(forKey: key)
    else { return nil }
    unsafe multi.remove(transfer.raw)
    return (transfer.ticket, transfer.outcome(result), transfer.wasSent)
  }
}

extension HTTPClient {
  /// Sends one request and waits for its outcome, for threads that may block.
  public static func outcome(
    of request: HTTPRequest, admits: @escaping @Sendable (PeerAddress) -> Bool
  ) -> HTTPOutcome {
    // libcurl ends the request at its time limit.
    outcome(of: request, admits: admits, everyMilliseconds: 1_000, goesOn: { true })
      ?? .failed(reason: "the request was given up")
  }

  /// The same, and calls `goesOn` at least at this interval; nil when it has returned false, which
  /// ends the request and its connection.
  public static func outcome(
    of request: HTTPRequest, admits: @escaping @Sendable (PeerAddress) -> Bool,
    everyMilliseconds interval: Int32, goesOn: () -> Bool
  ) -> HTTPOutcome? {
    var client = HTTPClient(connectionsMax: 1, admits: admits)
    guard client.begin(request, ticket: 0) else { return .failed(reason: "the URL is invalid") }
    while goesOn() {
      client.advance(milliseconds: interval)
      if let (_, outcome) = client.takeEnded() { return outcome }
    }
    return nil
  }
}

/// libcurl's multi handle. It does not own the transfers: `HTTPClient` does, until they are
/// removed. Callbacks run only inside `perform`.
@safe final class MultiHandle {
  private let raw: UnsafeMutableRawPointer

  /// Initialises libcurl once per process.
  static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init(connectionsMax: Int) {
    guard MultiHandle.isReady, let made = unsafe curl_multi_init() else {
      preconditionFailure("libcurl cannot be initialised")
    }
    unsafe raw = made
    // libcurl opens its wake-up sockets without FD_CLOEXEC. Before Linux 5.11 they cannot be marked
    // here; then `Kernel.ChildProcess` closes them in the child.
    try? Descriptors.closeOnExec()
    // SAFETY: a handle that was just made.
    unsafe chirrup_curl_limit(raw, connectionsMax, HTTPClient.connectionsKept)
  }

  deinit {
    // SAFETY: owned here, and no transfer refers to it.
    unsafe _ = curl_multi_cleanup(raw)
  }

  func add(_ easy: UnsafeMutableRawPointer) -> Bool {
    // SAFETY: both handles are alive.
    unsafe curl_multi_add_handle(raw, easy) == CURLM_OK
  }

  func remove(_ easy: UnsafeMutableRawPointer) {
    // SAFETY: as above.
    unsafe _ = curl_multi_remove_handle(raw, easy)
  }

  /// The number of unfinished transfers.
  func perform() -> Int {
    var running: Int32 = 0
    // SAFETY: the transfers that were added are alive until they are removed.
    unsafe _ = curl_multi_perform(raw, &running)
    return Int(running)
  }

  func wait(milliseconds: Int32, wakeup: Int32?) {
    var further = curl_waitfd(fd: wakeup ?? -1, events: Int16(CURL_WAIT_POLLIN), revents: 0)
    // SAFETY: as above; the additional descriptor is used during the call.
    unsafe _ = curl_multi_poll(raw, &further, wakeup == nil ? 0 : 1, milliseconds, nil)
  }

  func takeEnded() -> (key: UInt, result: CURLcode)? {
    var result = CURLE_OK
    // SAFETY: as above; the result is one of the added handles.
    guard let easy = unsafe chirrup_curl_ended(raw, &result) else { return nil }
    return (UInt(bitPattern: easy), result)
  }
}

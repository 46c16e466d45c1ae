import CCurl
import Kernel

/// One request in progress: the handle, and the memory that libcurl reads meanwhile.
///
/// libcurl has `self` as the argument of its callbacks, which run only inside the client's calls,
/// between `join` and `leave`; `HTTPClient` owns it for that time.
@safe final class Transfer {
  let raw: UnsafeMutableRawPointer
  let ticket: UInt64
  private let admits: @Sendable (PeerAddress) -> Bool
  private let headers: UnsafeMutablePointer<curl_slist>?
  private let body: UnsafeMutableBufferPointer<CChar>
  private let responseBytesMax: Int?
  private let receive: (@Sendable (Int, [UInt8]) -> Bool)?
  private var bytesRead = 0
  private var response: [UInt8] = []
  private var refused: IPAddress?

  /// Nil when libcurl rejects the request.
  init?(
    _ request: HTTPRequest, ticket: UInt64, admits: @escaping @Sendable (PeerAddress) -> Bool
  ) {
    guard let made = unsafe curl_easy_init() else { return nil }
    unsafe raw = made
    self.ticket = ticket
    self.admits = admits
    responseBytesMax = request.responseBytesMax
    receive = request.receive
    // SAFETY: each text is copied during its call; the list is freed in `deinit`. An empty `Expect`
    // makes curl send a long body at once.
    unsafe headers = (request.headers + ["Expect:"]).reduce(nil) { list, header in
      unsafe curl_slist_append(list, header)
    }
    let bytes = request.body ?? []
    unsafe body = UnsafeMutableBufferPointer.allocate(capacity: bytes.count)
    // SAFETY: the buffer has as many elements as the body.
    _ = unsafe body.initialize(from: bytes.map { CChar(bitPattern: $0) })
    // SAFETY: headers and body are freed in `deinit`, after the handle; the URL is copied.
    let isTaken = unsafe chirrup_curl_request(
      raw, request.url, request.body == nil ? 0 : 1, UnsafePointer(body.baseAddress), body.count,
      headers, request.milliseconds)
    // SAFETY: see the type's comment.
    let areSet = unsafe chirrup_curl_callbacks(
      raw, Unmanaged.passUnretained(self).toOpaque(), openSocket, writeAnswer)
    guard isTaken == 1, areSet == 1 else { return nil }
  }

  deinit {
    // SAFETY: owned here, and removed from the multi handle before.
    unsafe curl_easy_cleanup(raw)
    unsafe curl_slist_free_all(headers)
    unsafe body.deallocate()
  }

  var key: UInt { unsafe UInt(bitPattern: raw) }

  func outcome(_ result: CURLcode) -> HTTPOutcome {
    // SAFETY: the handle is alive.
    let status = unsafe chirrup_curl_status(raw)
    if let responseBytesMax, bytesRead > responseBytesMax {
      return .failed(reason: "the response has more than \(responseBytesMax) bytes")
    }
    // An answer counts even if we stopped reading a body that is discarded.
    if result == CURLE_OK || result == CURLE_WRITE_ERROR && status > 0 {
      return .answered(
        status: status, body: response, retryAfter: unsafe chirrup_curl_retry_after(raw))
    }
    if let refused { return .refused(refused) }
    // SAFETY: a constant text of libcurl.
    return unsafe .failed(reason: String(cString: curl_easy_strerror(result)))
  }

  // MARK: Callbacks

  fileprivate func opens(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
    var bytes: (UInt64, UInt64) = (0, 0)
    var port: UInt16 = 0
    // SAFETY: 16 bytes are written to 16 bytes; the address lives through the callback.
    let isKnown = unsafe withUnsafeMutableBytes(of: &bytes) { room in
      unsafe chirrup_curl_address(
        address, room.baseAddress?.assumingMemoryBound(to: UInt8.self), &port)
    }
    let ip = IPAddress(high: UInt64(bigEndian: bytes.0), low: UInt64(bigEndian: bytes.1))
    if isKnown == 1, admits(PeerAddress(ip: ip, port: port)) { return true }
    refused = ip
    return false
  }

  /// Whether to read on.
  fileprivate func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytesRead += bytes.count
    guard let responseBytesMax else { return bytesRead <= HTTPClient.bodyBytes }
    guard bytesRead <= responseBytesMax else { return false }
    if let receive {
      // SAFETY: the handle is alive; libcurl's bytes live through its callback.
      return receive(unsafe chirrup_curl_status(raw), unsafe Array(bytes))
    }
    // SAFETY: libcurl's bytes live through its callback.
    unsafe response.append(contentsOf: bytes)
    return true
  }
}

/// Without captures, as C requires.
private let openSocket: curl_opensocket_callback = { owner, _, address in
  guard let owner = unsafe owner, let address = unsafe address else { return -1 }
  // SAFETY: the owner is the transfer that was given with the callback, and is alive.
  let transfer = unsafe Unmanaged<Transfer>.fromOpaque(owner).takeUnretainedValue()
  return unsafe transfer.opens(address) ? chirrup_curl_open(address) : -1
}

private let writeAnswer: curl_write_callback = { bytes, size, count, owner in
  guard let owner = unsafe owner else { return 0 }
  // SAFETY: as above; libcurl gives `size * count` bytes.
  let transfer = unsafe Unmanaged<Transfer>.fromOpaque(owner).takeUnretainedValue()
  let isTaken = unsafe transfer.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
  return isTaken ? size * count : 0
}

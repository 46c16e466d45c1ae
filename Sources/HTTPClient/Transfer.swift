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
  private let receiveField: (@Sendable (String, String) -> Void)?
  private let upload: HTTPUpload?
  private var uploaded: Int64 = 0
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
    receiveField = request.receiveField
    upload = request.upload
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
      raw, request.url, request.method?.rawValue, request.body == nil ? 0 : 1,
      UnsafePointer(body.baseAddress), body.count, headers, request.milliseconds)
    // SAFETY: the handle is alive.
    if request.isSentOnce { unsafe chirrup_curl_send_once(raw) }
    // SAFETY: see the type's comment.
    let owner = unsafe Unmanaged.passUnretained(self).toOpaque()
    let areSet = unsafe chirrup_curl_callbacks(raw, owner, openSocket, writeAnswer)
    guard isTaken == 1, areSet == 1, unsafe prepares(request, owner) else { return nil }
  }

  /// The options that few requests have.
  private func prepares(_ request: HTTPRequest, _ owner: UnsafeMutableRawPointer) -> Bool {
    // SAFETY: see the type's comment; the path is copied.
    if receiveField != nil, unsafe chirrup_curl_head(raw, owner, readHead) != 1 { return false }
    if let authority = request.authority, unsafe chirrup_curl_trust(raw, authority) != 1 {
      return false
    }
    guard let upload else { return true }
    return unsafe chirrup_curl_upload(raw, owner, readUpload, seekUpload, upload.count) == 1
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
      return .failed(reason: HTTPClient.longAnswer(responseBytesMax))
    }
    // An answer counts even if we stopped reading a body that is discarded.
    if result == CURLE_OK || result == CURLE_WRITE_ERROR && status > 0 {
      return .answered(
        status: status, body: response, retryAfter: unsafe chirrup_curl_retry_after(raw))
    }
    if let refused { return .refused(refused) }
    if result == CURLE_OPERATION_TIMEDOUT { return .failed(reason: HTTPClient.timeIsUp) }
    // SAFETY: a constant text of libcurl.
    return unsafe .failed(reason: String(cString: curl_easy_strerror(result)))
  }

  var wasSent: Bool {
    // SAFETY: the handle is alive.
    unsafe chirrup_curl_sent(raw) > 0
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

  /// The next bytes of the upload; nil when the file cannot be read, or is shorter than it was.
  fileprivate func fill(_ room: UnsafeMutableRawBufferPointer) -> Int? {
    guard let upload else { return nil }
    let count = Int(min(Int64(room.count), upload.count - uploaded))
    if count == 0 { return 0 }
    // SAFETY: libcurl's buffer has at least `count` bytes and lives through its callback.
    var span = unsafe MutableRawSpan(
      _unsafeBytes: UnsafeMutableRawBufferPointer(rebasing: room[..<count]))
    do throws(Errno) {
      let got = try upload.file.read(into: &span, at: upload.offset + uploaded)
      uploaded += Int64(got)
      return got > 0 ? got : nil
    } catch {
      return nil
    }
  }

  fileprivate func seek(to position: Int64) -> Bool {
    guard let upload, (0...upload.count).contains(position) else { return false }
    uploaded = position
    return true
  }

  /// A line of the head: the status line and the empty line have no field.
  fileprivate func takeHead(_ bytes: UnsafeRawBufferPointer) {
    guard let receiveField, bytes.count <= HTTPClient.headLineBytes else { return }
    // SAFETY: libcurl's bytes live through its callback.
    let line = unsafe String(decoding: bytes, as: UTF8.self)
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
    let value = line[line.utf8.index(after: colon)...]
    let isBlank: (Character) -> Bool = { $0.isWhitespace }
    let trimmed = value.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
    receiveField(line[..<colon].lowercased(), String(trimmed))
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

private let readHead: curl_write_callback = { bytes, size, count, owner in
  guard let owner = unsafe owner else { return 0 }
  // SAFETY: as above.
  let transfer = unsafe Unmanaged<Transfer>.fromOpaque(owner).takeUnretainedValue()
  unsafe transfer.takeHead(UnsafeRawBufferPointer(start: bytes, count: size * count))
  return size * count
}

private let readUpload: curl_read_callback = { room, size, count, owner in
  guard let owner = unsafe owner else { return Int(CURL_READFUNC_ABORT) }
  // SAFETY: as above; libcurl gives room for `size * count` bytes.
  let transfer = unsafe Unmanaged<Transfer>.fromOpaque(owner).takeUnretainedValue()
  let filled = unsafe transfer.fill(
    UnsafeMutableRawBufferPointer(start: room, count: size * count))
  return filled ?? Int(CURL_READFUNC_ABORT)
}

private let seekUpload: curl_seek_callback = { owner, offset, origin in
  guard let owner = unsafe owner, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
  // SAFETY: as above.
  let transfer = unsafe Unmanaged<Transfer>.fromOpaque(owner).takeUnretainedValue()
  return transfer.seek(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

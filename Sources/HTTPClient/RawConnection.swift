import CCurl
public import Kernel
public import Primitives

/// A connection to an http or https URL that sends and receives bytes as they are: for handshakes
/// and measurements that no client of HTTP offers. libcurl resolves the name, connects, and
/// completes TLS with a verified certificate. Blocks; for the command line only.
@safe public final class RawConnection {
  public struct Failure: Error, CustomStringConvertible {
    public enum Stage: Sendable { case name, connect, tls, other }

    public var stage: Stage
    public var description: String
  }

  public enum Received: Equatable, Sendable {
    case bytes([UInt8])
    case nothingInTime
    case closed
    case failed(reason: String)
  }

  private static let bufferBytes = 16_384

  private let raw: UnsafeMutableRawPointer
  private let epoll: Epoll
  private var events = Events(capacity: 1)

  /// - Parameters:
  ///   - milliseconds: the time limit of name resolution, connection and TLS together.
  ///   - authority: a PEM file of certificates to trust instead of the system's.
  ///   - verifies: whether the server's certificate must be valid.
  public init(
    to url: String, milliseconds: Int, authority: String? = nil, verifies: Bool = true
  ) throws {
    epoll = try Epoll()
    guard MultiHandle.isReady, let made = unsafe curl_easy_init() else {
      throw Failure(stage: .other, description: "libcurl cannot be initialised")
    }
    unsafe raw = made
    var reason = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))
    // SAFETY: the texts are copied; the buffer of the reason is used during this call only.
    let result = unsafe chirrup_curl_connect(
      raw, url, authority, verifies ? 1 : 0, milliseconds, &reason)
    // SAFETY: libcurl writes to the buffer only while it knows it.
    unsafe chirrup_curl_forget_reason(raw)
    guard result == CURLE_OK else {
      let bytes = reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      // SAFETY: a constant text of libcurl.
      let general = unsafe String(cString: curl_easy_strerror(result))
      let text = bytes.isEmpty ? general : String(decoding: bytes, as: UTF8.self)
      throw Failure(stage: RawConnection.stage(of: result), description: text)
    }
    let socket = unsafe chirrup_curl_socket(raw)
    guard socket >= 0 else { throw Failure(stage: .other, description: "libcurl has no socket") }
    try epoll.add(rawValue: socket, .read, datum: 0)
  }

  deinit {
    // SAFETY: owned here.
    unsafe curl_easy_cleanup(raw)
  }

  private static func stage(of result: CURLcode) -> Failure.Stage {
    switch result {
    case CURLE_COULDNT_RESOLVE_HOST: .name
    case CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT: .connect
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE: .tls
    default: .other
    }
  }

  /// This end of the connection.
  public var local: PeerAddress? {
    var port = 0
    // SAFETY: the handle is alive, and owns the text.
    guard let text = unsafe chirrup_curl_local(raw, &port),
      let ip = unsafe IPAddress(String(cString: text))
    else { return nil }
    return PeerAddress(ip: ip, port: UInt16(clamping: port))
  }

  /// When the server's certificate expires; nil without TLS.
  public var certificateEnd: WallTime? {
    // SAFETY: the handle is alive.
    let seconds = unsafe chirrup_curl_expiry(raw)
    return seconds < 0 ? nil : WallTime(microseconds: seconds * 1_000_000)
  }

  /// Sends a few bytes, which fit into the socket's empty buffer.
  public func send(_ bytes: [UInt8]) throws {
    var sent = 0
    // SAFETY: the bytes outlive the call.
    let result = unsafe bytes.withUnsafeBytes { buffer in
      unsafe curl_easy_send(raw, buffer.baseAddress, buffer.count, &sent)
    }
    guard result == CURLE_OK, sent == bytes.count else {
      // SAFETY: a constant text of libcurl.
      let text = unsafe String(cString: curl_easy_strerror(result))
      throw Failure(stage: .other, description: text)
    }
  }

  /// Waits for bytes until `deadline`.
  public func receive(until deadline: Instant) throws(Errno) -> Received {
    var buffer = [UInt8](repeating: 0, count: RawConnection.bufferBytes)
    while true {
      var count = 0
      // SAFETY: at most the size of the buffer is written.
      let result = unsafe buffer.withUnsafeMutableBytes { room in
        unsafe curl_easy_recv(raw, room.baseAddress, room.count, &count)
      }
      if result == CURLE_OK { return count == 0 ? .closed : .bytes(Array(buffer[..<count])) }
      guard result == CURLE_AGAIN else {
        // SAFETY: a constant text of libcurl.
        return unsafe .failed(reason: String(cString: curl_easy_strerror(result)))
      }
      let left = deadline.milliseconds(since: SystemClock.now())
      guard left > 0 else { return .nothingInTime }
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(min(left, 60_000)))
    }
  }
}

/// Requests to other people's servers, over libcurl: many at once, driven by one thread.
///
/// This target is the only importer of libcurl. What is asked for is a POST whose status and first
/// bytes are of interest; servers of HTTPS are verified, redirects are not followed, and no proxy
/// or password of the environment is used.
///
/// Every address is put before `admits` when the socket to it is made, after whatever name service,
/// notation or redirection led there: no connection begins that it refuses.
import CCurl
public import Kernel

/// One POST.
public struct HTTPPost: Sendable {
  public var url: String
  /// `Name: value`, each a line.
  public var headers: [String]
  public var body: [UInt8]
  /// From the name's look-up to the last byte.
  public var milliseconds: Int

  public init(url: String, headers: [String], body: [UInt8], milliseconds: Int) {
    self.url = url
    self.headers = headers
    self.body = body
    self.milliseconds = milliseconds
  }
}

/// What became of it.
public enum HTTPOutcome: Sendable, Equatable {
  /// The server answered; `text` is the beginning of its body, at most `HTTPClient.bodyBytes`.
  case answered(status: Int, text: [UInt8])
  /// The guard refused the only addresses that there were.
  case refused(IPAddress)
  /// No answer, and why, in libcurl's words.
  case failed(reason: String)
}

public struct HTTPClient: ~Copyable {
  /// Bytes of an answer that are read; then the connection is given up.
  public static let bodyBytes = 4_096
  /// Connections that stay open for the next request.
  static let connectionsKept = 16

  private let multi: MultiHandle
  private let admits: @Sendable (PeerAddress) -> Bool
  /// By the address of their handles.
  private var transfers: [UInt: Transfer] = [:]

  /// - Parameter admits: whether a connection to this address may begin.
  public init(connectionsMax: Int, admits: @escaping @Sendable (PeerAddress) -> Bool) {
    multi = MultiHandle(connectionsMax: connectionsMax)
    self.admits = admits
  }

  deinit {
    for transfer in transfers.values { multi.remove(transfer) }
  }

  /// Requests under way.
  public var count: Int { transfers.count }

  /// Begins a request; its outcome comes from `takeEnded` under `ticket`.
  ///
  /// - Returns: false when it cannot begin, for example since its URL is none.
  public mutating func begin(_ post: HTTPPost, ticket: UInt64) -> Bool {
    guard let transfer = Transfer(post, ticket: ticket, admits: admits) else { return false }
    guard multi.add(transfer) else { return false }
    transfers[transfer.key] = transfer
    return true
  }

  /// Waits until something has happened, or for so many milliseconds, and carries on.
  ///
  /// - Parameter bell: a descriptor that ends the wait when it can be read.
  public mutating func advance(milliseconds: Int32, bell: Int32? = nil) {
    if multi.perform() == transfers.count {
      multi.wait(milliseconds: milliseconds, bell: bell)
      _ = multi.perform()
    }
  }

  public mutating func takeEnded() -> (ticket: UInt64, outcome: HTTPOutcome)? {
    guard let (key, result) = multi.takeEnded(),
      let transfer = transfers.removeValue(forKey: key)
    else { return nil }
    multi.remove(transfer)
    return (transfer.ticket, transfer.outcome(result))
  }
}

/// libcurl's handle of many transfers. It does not keep them: `HTTPClient` does, until they are
/// removed. Callbacks run only inside `perform`.
@safe final class MultiHandle {
  private let raw: UnsafeMutableRawPointer

  /// Once in a process.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init(connectionsMax: Int) {
    guard MultiHandle.isReady, let made = unsafe curl_multi_init() else {
      preconditionFailure("libcurl cannot begin")
    }
    unsafe raw = made
    // The sockets by which libcurl wakes itself are open without FD_CLOEXEC. Linux before 5.11
    // cannot mark them; there `Kernel.ChildProcess` closes them, which starts what we start.
    try? Descriptors.closeOnExec()
    // SAFETY: a handle that was just made.
    unsafe chirrup_curl_limit(raw, connectionsMax, HTTPClient.connectionsKept)
  }

  deinit {
    // SAFETY: owned here, and no transfer refers to it any more.
    unsafe _ = curl_multi_cleanup(raw)
  }

  func add(_ transfer: Transfer) -> Bool {
    // SAFETY: both handles are alive.
    unsafe curl_multi_add_handle(raw, transfer.raw) == CURLM_OK
  }

  func remove(_ transfer: Transfer) {
    // SAFETY: as above.
    unsafe _ = curl_multi_remove_handle(raw, transfer.raw)
  }

  /// Transfers that are not at their end.
  func perform() -> Int {
    var running: Int32 = 0
    // SAFETY: the transfers that were added are alive until they are removed.
    unsafe _ = curl_multi_perform(raw, &running)
    return Int(running)
  }

  func wait(milliseconds: Int32, bell: Int32?) {
    var further = curl_waitfd(fd: bell ?? -1, events: Int16(CURL_WAIT_POLLIN), revents: 0)
    // SAFETY: as above; the one further descriptor is used during the call.
    unsafe _ = curl_multi_poll(raw, &further, bell == nil ? 0 : 1, milliseconds, nil)
  }

  func takeEnded() -> (key: UInt, result: CURLcode)? {
    var result = CURLE_OK
    // SAFETY: as above; what comes back is one of the handles that were added.
    guard let easy = unsafe chirrup_curl_ended(raw, &result) else { return nil }
    return (UInt(bitPattern: easy), result)
  }
}

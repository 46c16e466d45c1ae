/// Answers HTTP while the gateway waits for its database: `/healthz` with 200, everything else with
/// 503 and `Retry-After`, so that a load balancer sees a gateway that is alive and not ready.
///
/// Connections are served one at a time, each for at most `requestMilliseconds`.
import Kernel
import Primitives
import Settings

final class StartupProbe {
  private static let requestMilliseconds: Int32 = 100
  private static let requestBytesMax = 4_096

  private var listeners: [ListeningSocket] = []
  private let epoll: Epoll
  private var events = Events(capacity: 16)

  /// A reference to a descriptor: `FileDescriptor` is not copyable and cannot be an array's
  /// element.
  private final class ListeningSocket {
    let socket: FileDescriptor
    init(_ socket: consuming FileDescriptor) { self.socket = socket }
  }

  /// Listens on each address that is free, or on the inherited sockets for HTTP. The gateway itself
  /// reports an address in use, later.
  init(_ settings: Settings, _ inherited: [InheritedSocket]) throws {
    epoll = try Epoll()
    let own = inherited.filter { $0.name == "http" }
    for socket in own { try add(socket.duplicate()) }
    guard own.isEmpty else { return }
    for address in settings.listen {
      guard let ip = IPAddress(address.host),
        let socket = try? Sockets.listen(on: ip, port: address.port)
      else { continue }
      try add(socket)
    }
  }

  private func add(_ socket: consuming FileDescriptor) throws {
    try epoll.add(rawValue: socket.rawValue, .read, datum: UInt64(listeners.count))
    listeners.append(ListeningSocket(socket))
  }

  /// Answers requests until the time is over or `isStopping` returns true.
  func wait(milliseconds: Int64, unless isStopping: () -> Bool) throws {
    let end = SystemClock.now().advanced(byMilliseconds: milliseconds)
    while !isStopping() {
      let left = end.milliseconds(since: SystemClock.now())
      guard left > 0 else { return }
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(min(left, 100)))
      for index in 0..<events.count {
        let listener = listeners[Int(events[index].datum)]
        guard case .accepted(let client, _) = listener.socket.accept() else { continue }
        try answer(client)
      }
    }
  }

  private func answer(_ client: consuming FileDescriptor) throws {
    let readable = try Epoll()
    try readable.add(rawValue: client.rawValue, .read, datum: 0)
    var ready = Events(capacity: 1)
    try readable.wait(into: &ready, timeoutMilliseconds: Self.requestMilliseconds)
    var request = [UInt8](repeating: 0, count: Self.requestBytesMax)
    var buffer = request.mutableSpan
    // SAFETY: UInt8 has no padding, and every byte value is a valid UInt8.
    var bytes = unsafe buffer.mutableBytes
    guard ready.count > 0, case .bytes(let count) = client.receive(into: &bytes) else { return }
    let line = String(decoding: request.prefix(min(count, 64)), as: UTF8.self)
    let isAlive = line.utf8.starts(with: "GET /healthz ".utf8)
    let response = Array((isAlive ? Self.alive : Self.notReady).utf8)
    _ = response.withRawSpan { client.send($0) }
    try? client.shutdownWrite()
  }

  private static let alive = response("200 OK", type: "text/plain", body: "ok\n")
  private static let notReady = response(
    "503 Service Unavailable", type: "application/json",
    body: #"{"ready":false,"reason":"PostgreSQL does not answer"}"#, fields: "Retry-After: 2\r\n")

  private static func response(
    _ status: String, type: String, body: String, fields: String = ""
  ) -> String {
    """
    HTTP/1.1 \(status)\r
    Content-Type: \(type)\r
    Content-Length: \(body.utf8.count)\r
    Cache-Control: no-store\r
    \(fields)Connection: close\r
    \r
    \(body)
    """
  }
}

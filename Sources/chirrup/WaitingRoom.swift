/// What answers while there is no database yet: `/healthz` is 200, everything else 503 with a time
/// to come back, so that a load balancer sees a gateway that lives and is not ready.
///
/// It serves one connection at a time, and none for longer than `patienceMilliseconds`.
import Kernel
import Primitives
import Settings

final class WaitingRoom {
  private static let patienceMilliseconds: Int32 = 100
  private static let requestBytesMax = 4_096

  private var listeners: [Door] = []
  private let epoll: Epoll
  private var events = Events(capacity: 16)

  /// A listening socket in an array: the descriptor itself has one owner.
  private final class Door {
    let socket: FileDescriptor
    init(_ socket: consuming FileDescriptor) { self.socket = socket }
  }

  /// Opens what it can: an address that is in use is the gateway's to refuse, when the database is
  /// there.
  init(_ settings: Settings) throws {
    epoll = try Epoll()
    for address in settings.listen {
      guard let ip = IPAddress(address.host),
        let socket = try? Sockets.listen(on: ip, port: address.port)
      else { continue }
      try epoll.add(rawValue: socket.rawValue, .read, datum: UInt64(listeners.count))
      listeners.append(Door(socket))
    }
  }

  /// Answers whoever comes within the time.
  func wait(milliseconds: Int64, unless isStopping: () -> Bool) throws {
    let end = SystemClock.now().advanced(byMilliseconds: milliseconds)
    while !isStopping() {
      let left = end.milliseconds(since: SystemClock.now())
      guard left > 0 else { return }
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(min(left, 100)))
      for index in 0..<events.count {
        let door = listeners[Int(events[index].datum)]
        guard case .accepted(let visitor, _) = door.socket.accept() else { continue }
        try answer(visitor)
      }
    }
  }

  private func answer(_ visitor: consuming FileDescriptor) throws {
    let arrival = try Epoll()
    try arrival.add(rawValue: visitor.rawValue, .read, datum: 0)
    var arrived = Events(capacity: 1)
    try arrival.wait(into: &arrived, timeoutMilliseconds: Self.patienceMilliseconds)
    var request = [UInt8](repeating: 0, count: Self.requestBytesMax)
    var buffer = request.mutableSpan
    // SAFETY: UInt8 has no padding, and every byte that is written is a UInt8.
    var bytes = unsafe buffer.mutableBytes
    guard arrived.count > 0, case .bytes(let count) = visitor.receive(into: &bytes) else { return }
    let line = String(decoding: request.prefix(min(count, 64)), as: UTF8.self)
    let isAlive = line.utf8.starts(with: "GET /healthz ".utf8)
    let response = Array((isAlive ? Self.alive : Self.notReady).utf8)
    _ = response.withRawSpan { visitor.send($0) }
    try? visitor.shutdownWrite()
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

/// Checks from outside whether a server listens, and reads its answer to a GET.
import Kernel
import Primitives

struct ProbeFailure: Error, CustomStringConvertible {
  var description: String
}

enum HTTPProbe {
  private static let answerMilliseconds: Int64 = 1_000
  private static let ok = Array("HTTP/1.1 200".utf8)

  /// Whether a connection opens and is not closed at once.
  static func accepts(_ target: Target) -> Bool {
    guard let probe = try? ProbeSocket(target, milliseconds: answerMilliseconds) else {
      return false
    }
    var buffer = [UInt8](repeating: 0, count: 16)
    return buffer.withMutableRawSpan { probe.socket.receive(into: &$0) } == .wouldBlock
  }

  /// Whether a GET of the target's path is answered with 200.
  static func answersOK(_ target: Target) -> Bool {
    let answer = try? get(
      target, path: target.path, milliseconds: answerMilliseconds, isWhole: { $0.count >= ok.count }
    )
    return answer?.starts(with: ok) ?? false
  }

  /// Reads head and body, to the end of the connection or until `isWhole`.
  static func get(
    _ target: Target, path: String, milliseconds: Int64, isWhole: ([UInt8]) -> Bool = { _ in false }
  ) throws -> [UInt8] {
    let limit = SystemClock.now().advanced(byMilliseconds: milliseconds)
    let probe = try ProbeSocket(target, milliseconds: milliseconds)
    let request = Array(
      "GET \(path) HTTP/1.1\r\nHost: \(target.host)\r\nConnection: close\r\n\r\n".utf8)
    guard case .bytes(request.count) = request.withRawSpan({ probe.socket.send($0) }) else {
      throw ProbeFailure(description: "no connection")
    }
    try probe.awaitBytes()
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while SystemClock.now() < limit {
      try probe.wait(until: limit)
      switch buffer.withMutableRawSpan({ probe.socket.receive(into: &$0) }) {
      case .bytes(let count): answer += buffer[..<count]
      case .wouldBlock: continue
      case .endOfStream: return answer
      case .reset, .failed: throw ProbeFailure(description: "the connection broke")
      }
      if isWhole(answer) { return answer }
    }
    throw ProbeFailure(description: "no answer in \(milliseconds) ms")
  }

  /// An open connection.
  private final class ProbeSocket {
    let socket: FileDescriptor
    private let epoll: Epoll
    private var events = Events(capacity: 1)

    init(_ target: Target, milliseconds: Int64) throws {
      socket = try Sockets.connect(to: target.address, port: target.port)
      epoll = try Epoll()
      try epoll.add(socket, .write, datum: 0)
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(clamping: milliseconds))
      guard events.count == 1, !events[0].isHungUp else {
        throw ProbeFailure(description: "the connection was refused")
      }
    }

    func awaitBytes() throws(Errno) { try epoll.modify(socket, .read, datum: 0) }

    func wait(until limit: Instant) throws(Errno) {
      let left = max(0, limit.milliseconds(since: SystemClock.now()))
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(clamping: left))
    }
  }
}

/// One HTTP request to the gateway that runs on this machine, at `admin_listen`, with a token that
/// is signed with a key of its database (config/SECURITY.md).
import JSON
import Kernel
import Primitives
import Settings
import Tokens

struct AdminClient {
  /// Time for connecting, and for each wait for bytes.
  static let milliseconds: Int32 = 10_000
  private static let responseBytesMax = 4_194_304

  private let address: ListenAddress
  /// A token is valid for a minute, so each request gets its own.
  private let tokens: TokenAuthority

  init(_ settings: Settings, _ tokens: TokenAuthority) throws {
    guard var address = settings.adminListen.first else {
      throw CommandFailure(
        "admin_listen names no address, so this command cannot reach the gateway. Set it, for "
          + "example to 127.0.0.1:9180, and start the gateway again.")
    }
    if address.host == "0.0.0.0" { address.host = "127.0.0.1" }
    if address.host == "::" { address.host = "::1" }
    self.address = address
    self.tokens = tokens
  }

  /// - Returns: the body of a successful response.
  func request(
    _ method: String, _ target: String, body: String = "",
    milliseconds: Int32 = AdminClient.milliseconds
  ) throws -> String {
    let token = try tokens.issueForInstance(now: SystemClock.wallTime())
    let text = """
      \(method) \(target) HTTP/1.1\r
      Host: \(address)\r
      Authorization: Bearer \(token)\r
      Content-Type: application/json\r
      Content-Length: \(body.utf8.count)\r
      Connection: close\r
      \r
      \(body)
      """
    let response = try exchange(Array(text.utf8), milliseconds)
    guard let end = response.firstRange(of: "\r\n\r\n") else {
      throw CommandFailure("the gateway at \(address) closed the connection without a response")
    }
    let content = String(response[end.upperBound...])
    let status = response.split(separator: " ", maxSplits: 2).dropFirst().first ?? ""
    guard status.hasPrefix("2") else {
      throw CommandFailure(
        "the gateway at \(address) refused the request (\(status)): \(Self.detail(of: content))")
    }
    return content
  }

  /// The `detail` of a problem document (RFC 9457).
  private static func detail(of content: String) -> String {
    JSONValue(content)?["detail"]?.string ?? "it is no gateway of this version"
  }

  private func exchange(_ request: [UInt8], _ milliseconds: Int32) throws -> String {
    let host = address.host == "localhost" ? "127.0.0.1" : address.host
    guard let ip = IPAddress(host) else {
      throw CommandFailure("admin_listen: \(address.host) is not an IP address")
    }
    let epoll = try Epoll()
    do throws(Errno) {
      let socket = try Sockets.connect(to: ip, port: address.port)
      try epoll.add(socket, .write, datum: 0)
      try Self.wait(epoll, milliseconds)
      if let error = try socket.pendingError() { throw error }
      try Self.send(request, socket, epoll, milliseconds)
      try epoll.modify(socket, .read, datum: 0)
      return String(decoding: try Self.receive(socket, epoll, milliseconds), as: UTF8.self)
    } catch {
      throw CommandFailure(
        "no gateway answers at \(address) (admin_listen): \(error). Run this command on the "
          + "machine of the gateway, with its settings.")
    }
  }

  private static func send(
    _ request: [UInt8], _ socket: borrowing FileDescriptor, _ epoll: borrowing Epoll,
    _ milliseconds: Int32
  ) throws(Errno) {
    var offset = 0
    while offset < request.count {
      switch request.withRawSpan({ socket.send($0.extracting(offset..<$0.byteCount)) }) {
      case .bytes(let count): offset += count
      case .wouldBlock: try wait(epoll, milliseconds)
      case .reset: throw .connectionReset
      case .failed(let error): throw error
      }
    }
  }

  private static func receive(
    _ socket: borrowing FileDescriptor, _ epoll: borrowing Epoll, _ milliseconds: Int32
  ) throws(Errno) -> [UInt8] {
    var response: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while response.count < responseBytesMax {
      let outcome = buffer.withMutableRawSpan { socket.receive(into: &$0) }
      switch outcome {
      case .bytes(let count): response += buffer[..<count]
      case .wouldBlock: try wait(epoll, milliseconds)
      case .endOfStream, .reset: return response
      case .failed(let error): throw error
      }
    }
    return response
  }

  private static func wait(
    _ epoll: borrowing Epoll, _ milliseconds: Int32
  ) throws(Errno) {
    var events = Events(capacity: 1)
    try epoll.wait(into: &events, timeoutMilliseconds: milliseconds)
    guard events.count > 0 else { throw .timedOut }
  }
}

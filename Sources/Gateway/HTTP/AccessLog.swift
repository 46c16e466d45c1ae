/// The access log (`log.access`): one line for each HTTP request and each upgrade to WebSocket.
/// config/LOG.md documents the fields.
///
/// It has no query, no header but the user agent, and no segment of a path that may be a token. A
/// request costs nothing while the log is off.
import Kernel
import Logging
import Primitives
import REST
import Wire

/// A request that waits for its answer.
final class AccessEntry: Sendable {
  let id: Identifier
  /// Nil for bytes that are no HTTP request, or not a whole one.
  let method: String?
  let path: String
  let userAgent: String?
  let address: IPAddress
  let byteCount: Int
  /// When the request was complete.
  let began: Instant

  init(_ head: RequestHead?, id: Identifier, address: IPAddress, byteCount: Int, began: Instant) {
    self.id = id
    method = head?.method.description
    path = head?.path ?? ""
    userAgent = head?.value(of: "user-agent")
    self.address = address
    self.byteCount = byteCount
    self.began = began
  }
}

struct AccessLog {
  let logger: Logger
  let assets: Assets

  /// The field of the response with the id of the line.
  static let header = "X-Request-Id"

  enum Field: String, CaseIterable {
    case request, connection, method, path, route, status
    case duration = "duration_ms"
    case bytesIn = "bytes_in"
    case bytesOut = "bytes_out"
    case address
    case userAgent = "user_agent"
  }

  static let methodBytesMax = 16
  static let pathBytesMax = 256
  static let userAgentBytesMax = 200
  /// A segment of an unknown path that is longer may be a token.
  static let segmentBytesMax = 16
  /// Replaces what may be a token, and the rest of what is too long.
  static let omission = "…"

  /// - Parameters:
  ///   - status: nil if the client left before the answer.
  ///   - route: as in `APIResponse`.
  ///   - byteCount: of the answer.
  ///   - connection: the id of the WebSocket.
  func write(
    _ entry: AccessEntry, status: Int?, route: Int? = nil, byteCount: Int = 0,
    connection: Identifier? = nil, now: Instant = SystemClock.now()
  ) {
    let pattern = route.flatMap { API.routePattern($0)?.path }
    var fields: [Field: Logger.MetadataValue] = [
      .request: .string("\(entry.id)"), .address: .string(entry.address.description),
      .duration: .stringConvertible(now.milliseconds(since: entry.began)),
      .bytesIn: .stringConvertible(entry.byteCount), .bytesOut: .stringConvertible(byteCount),
    ]
    fields[.connection] = connection.map { .string("\($0)") }
    fields[.status] = status.map { .stringConvertible($0) }
    fields[.route] = pattern.map { .string($0) }
    if let method = entry.method {
      fields[.method] = .string(AccessLog.cut(method, AccessLog.methodBytesMax))
      fields[.path] = .string(path(entry.path, pattern))
    }
    fields[.userAgent] = entry.userAgent.map {
      .string(AccessLog.cut($0, AccessLog.userAgentBytesMax))
    }
    logger.info(
      "request", metadata: Dictionary(uniqueKeysWithValues: fields.map { ($0.rawValue, $1) }))
  }

  /// A path without what may be secret: a file of the gateway as it is; of a route its words and
  /// ids, and the names of its other parameters; of other paths the short and the usual segments.
  func path(_ path: String, _ pattern: String?) -> String {
    guard assets[path] == nil else { return path }
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    let words = pattern?.split(separator: "/", omittingEmptySubsequences: false) ?? []
    var shown = ""
    for (index, segment) in segments.enumerated() {
      if index > 0 { shown += "/" }
      // The rest would be cut anyway.
      guard shown.utf8.count <= AccessLog.pathBytesMax else { break }
      if words.count == segments.count {
        let isShown = words[index] == segment || Identifier(String(segment)) != nil
        shown += isShown ? segment : words[index]
      } else {
        shown += AccessLog.isUsual(segment) ? String(segment) : AccessLog.omission
      }
    }
    return AccessLog.cut(shown, AccessLog.pathBytesMax)
  }

  /// Whether a segment is short and has unreserved characters only (RFC 3986 §2.3), or is an id.
  private static func isUsual(_ segment: Substring) -> Bool {
    if segment.utf8.count > segmentBytesMax { return Identifier(String(segment)) != nil }
    return segment.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        true
      default: false
      }
    }
  }

  /// At most this many bytes of the text, and then the sign of an omission.
  private static func cut(_ text: String, _ bytesMax: Int) -> String {
    guard text.utf8.count > bytesMax else { return text }
    var kept = text.unicodeScalars.prefix(bytesMax)
    while String(kept).utf8.count > bytesMax { kept.removeLast() }
    return String(kept) + omission
  }
}

extension HTTPServer {
  /// - Parameter head: nil for bytes that are no request.
  @inline(never)  // keeps the log out of requests while it is off
  mutating func beginAccess(
    _ socket: SocketIndex, _ head: RequestHead?, _ sockets: inout SocketTable, _ turn: Turn
  ) {
    let peer = sockets[socket].caller.peer.ip
    let exchange = sockets[socket].exchange
    sockets[socket].exchange.access = AccessEntry(
      head, id: random.identifier(at: turn.wall),
      address: head.map { rules.proxies.client(of: peer, $0) } ?? peer,
      byteCount: head == nil ? exchange.heldByteCount : exchange.requestByteCount,
      began: SystemClock.now())
  }

  func logAnswer(
    _ socket: SocketIndex, _ status: Int, route: Int? = nil, byteCount: Int,
    _ sockets: inout SocketTable
  ) {
    guard let entry = take(socket, &sockets) else { return }
    access.write(entry, status: status, route: route, byteCount: byteCount)
  }

  /// The socket becomes a WebSocket.
  func logUpgrade(
    _ socket: SocketIndex, _ upgrade: AcceptedUpgrade, _ sockets: inout SocketTable
  ) {
    guard let entry = take(socket, &sockets) else { return }
    access.write(
      entry, status: 101, byteCount: upgrade.response.count, connection: upgrade.name)
  }

  /// The client left, or the gateway stops, before there was an answer.
  func logUnanswered(_ socket: SocketIndex, _ sockets: inout SocketTable) {
    guard let entry = take(socket, &sockets) else { return }
    access.write(entry, status: nil)
  }

  private func take(_ socket: SocketIndex, _ sockets: inout SocketTable) -> AccessEntry? {
    guard let entry = sockets[socket].exchange.access else { return nil }
    sockets[socket].exchange.access = nil
    return entry
  }
}

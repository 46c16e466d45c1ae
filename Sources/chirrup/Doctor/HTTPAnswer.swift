/// Requests of `chirrup doctor`: plain HTTP/1.1, each on a connection of its own.
import HTTPClient
import JSON
import Kernel
import Primitives
import Wire

struct HTTPAnswer {
  /// 0 without a valid answer.
  var status = 0
  var body = ""
  /// The field Server.
  var server: String?
  /// From the request to the first byte of the body; nil without one.
  var bodyMilliseconds: Int64?

  /// Bytes of an answer that are read.
  private static let bytesMax = 65_536

  static func get(
    _ url: String, milliseconds: Int, authority: String? = nil, verifies: Bool = true
  ) throws -> HTTPAnswer {
    let connection = try RawConnection(
      to: url, milliseconds: milliseconds, authority: authority, verifies: verifies)
    try connection.send(request("GET", url))
    return try read(connection, milliseconds: Int64(milliseconds))
  }

  /// The path with a token, from `admin_listen`.
  static func token(_ admin: String) throws -> String {
    let connection = try RawConnection(
      to: admin, milliseconds: PublicURL.connectMilliseconds, verifies: false)
    try connection.send(request("POST", admin + "/probe", fields: "Content-Length: 0\r\n"))
    let answer = try read(connection, milliseconds: Int64(PublicURL.connectMilliseconds))
    guard answer.status == 201, let path = JSONValue(answer.body)?["path"]?.string else {
      throw CommandFailure("\(admin) gives no token: status \(answer.status)")
    }
    return path
  }

  /// - Parameters:
  ///   - fields: complete lines.
  ///   - connection: the options of the field Connection.
  static func request(
    _ method: String, _ url: String, fields: String = "", connection: String = "close"
  ) -> [UInt8] {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    let host = parts.count > 2 ? parts[2] : ""
    let path = parts.count > 3 ? parts[3] : ""
    return Array(
      "\(method) /\(path) HTTP/1.1\r\nHost: \(host)\r\nUser-Agent: chirrup-doctor\r\n\(fields)"
        .utf8) + Array("Connection: \(connection)\r\n\r\n".utf8)
  }

  /// Reads until the body has an object or the whole stated length, the connection ends, or the
  /// time is over.
  static func read(_ connection: RawConnection, milliseconds: Int64) throws -> HTTPAnswer {
    let begin = SystemClock.now()
    let deadline = begin.advanced(byMilliseconds: milliseconds)
    var bytes: [UInt8] = []
    var answer = HTTPAnswer()
    while bytes.count < bytesMax {
      guard case .bytes(let more) = try connection.receive(until: deadline) else { break }
      bytes += more
      guard let end = headEnd(bytes) else { continue }
      if answer.status == 0 { answer.take(bytes[..<end]) }
      let body = bytes[end...]
      if !body.isEmpty, answer.bodyMilliseconds == nil {
        answer.bodyMilliseconds = SystemClock.now().milliseconds(since: begin)
      }
      answer.body = String(decoding: body, as: UTF8.self)
      if let length = answer.length, body.count >= length { break }
      if body.contains(UInt8(ascii: "}")) { break }
    }
    return answer
  }

  private var length: Int?

  private mutating func take(_ head: ArraySlice<UInt8>) {
    let parsed = Array(head).withRawSpan { try? ResponseHead.parse($0) }
    status = parsed?.status ?? 0
    server = parsed?.fields.value(of: "server")
    length = parsed?.fields.value(of: "content-length").flatMap { Int($0) }
  }

  private static func headEnd(_ bytes: [UInt8]) -> Int? {
    var scanner = HeadScanner()
    return bytes.withRawSpan { try? scanner.scan($0) }
  }
}

/// How a request of the doctor arrived at the gateway, by the gateway's own report.
struct Arrival: Sendable, Equatable {
  var peer: String
  var peerIsTrusted: Bool
  var client: String
  var isSecure: Bool
  var host: String?
  var forwardedFor: String?
  var forwardedProto: String?
  /// The request came over the doctor's own connection, without a proxy.
  var isDirect: Bool
  /// Until the answer began, whose end the gateway holds back.
  var milliseconds: Int64

  /// The address that the doctor's requests claim to be forwarded for (RFC 5737 §3).
  static let claimed = "203.0.113.7"
  /// Longer than the gateway holds an answer back.
  private static let answerMilliseconds: Int64 = 6_000

  static func of(
    _ url: String, authority: String? = nil, verifies: Bool = true
  ) throws -> (arrival: Arrival?, response: HTTPAnswer) {
    let connection = try RawConnection(
      to: url, milliseconds: PublicURL.connectMilliseconds, authority: authority,
      verifies: verifies)
    let local = connection.local
    try connection.send(
      HTTPAnswer.request("GET", url, fields: "X-Forwarded-For: \(claimed)\r\n"))
    let response = try HTTPAnswer.read(connection, milliseconds: answerMilliseconds)
    guard response.status == 200, let begin = response.body.firstIndex(of: "{"),
      let end = response.body.lastIndex(of: "}"), begin < end,
      let json = JSONValue(String(response.body[begin...end])), let peer = json["peer"]?.string,
      let client = json["client"]?.string, let isTrusted = json["peer_is_trusted"]?.bool,
      let isSecure = json["secure"]?.bool
    else { return (nil, response) }
    let arrival = Arrival(
      peer: peer, peerIsTrusted: isTrusted, client: client, isSecure: isSecure,
      host: json["host"]?.string, forwardedFor: json["forwarded_for"]?.string,
      forwardedProto: json["forwarded_proto"]?.string,
      isDirect: local.map { "\($0)" } == peer, milliseconds: response.bodyMilliseconds ?? 0)
    return (arrival, response)
  }
}

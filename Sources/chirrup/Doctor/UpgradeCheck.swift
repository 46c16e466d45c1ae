/// Whether a WebSocket opens at `public_url`, as in a browser, and whether frames pass both ways.
import HTTPClient
import Kernel
import OpenSSL
import Primitives
import Wire

extension DoctorCheck {
  static let upgrade = DoctorCheck(
    name: "upgrade", symptom: "pages load, but the chat stays offline",
    remedy: "let the proxy pass on the WebSocket: proxy_http_version 1.1; proxy_set_header Upgrade "
      + "$http_upgrade; proxy_set_header Connection $connection_upgrade; (config/nginx.conf)"
  ) { examination in
    guard examination.facts.gatewayAnswers, let url = PublicURL.text(examination.settings) else {
      return .skipped("no gateway runs here")
    }
    guard examination.facts.arrival != nil else { return .skipped("\(url) does not lead here") }
    return try WebSocketProbe.run(url, authority: examination.authority)
  }
}

enum WebSocketProbe {
  private static let path = "/api/v1/ws"
  private static let answerMilliseconds: Int64 = 3_000

  static func run(_ url: String, authority: String?) throws -> Diagnosis {
    let connection = try RawConnection(
      to: url, milliseconds: PublicURL.connectMilliseconds, authority: authority)
    // 16 bytes are 22 digits and two padding characters (RFC 6455 §4.1).
    let key = Base64.standard.encode(SecureRandom.bytes(16)) + "=="
    let origin = WebOrigin.of(url: url) ?? url
    try connection.send(
      HTTPAnswer.request(
        "GET", url + path,
        fields: "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\n"
          + "Sec-WebSocket-Protocol: chirrup.v1\r\nOrigin: \(origin)\r\n", connection: "Upgrade"))
    let head = try readHead(connection)
    guard let head else { return .failure("\(url): no answer to the handshake of a WebSocket") }
    switch head.status {
    case 101: break
    case 400, 426:
      return .failure(
        "\(url): the Upgrade of a WebSocket does not arrive at the gateway (it answers "
          + "\(head.status))")
    case 429, 503:
      return .warning(
        "\(url): the gateway refuses WebSockets now (\(head.status))",
        mend: "try again; see the readiness and the limits")
    default: return .failure("\(url): the handshake of a WebSocket is answered \(head.status)")
    }
    guard head.fields.value(of: "sec-websocket-accept") == Upgrade.acceptValue(forKey: key) else {
      return .failure("\(url): the answer to the handshake of a WebSocket is for another one")
    }
    return try ping(connection, url)
  }

  private static func readHead(_ connection: RawConnection) throws -> ResponseHead? {
    let deadline = SystemClock.now().advanced(byMilliseconds: answerMilliseconds)
    var bytes: [UInt8] = []
    while bytes.count < HeadLimits.headBytes {
      guard case .bytes(let more) = try connection.receive(until: deadline) else { return nil }
      bytes += more
      var scanner = HeadScanner()
      guard let end = try bytes.withRawSpan({ try scanner.scan($0) }) else { continue }
      return try Array(bytes[..<end]).withRawSpan { try ResponseHead.parse($0) }
    }
    return nil
  }

  /// A gateway answers a ping at once (RFC 6455 §5.5.3).
  private static func ping(_ connection: RawConnection, _ url: String) throws -> Diagnosis {
    let payload = SecureRandom.bytes(8)
    var frame: [UInt8] = []
    payload.withRawSpan {
      FrameEncoder.appendMaskedFrame(
        .ping, payload: $0, maskKey: UInt32(truncatingIfNeeded: SecureRandom.word()), to: &frame)
    }
    let begin = SystemClock.now()
    try connection.send(frame)
    let deadline = begin.advanced(byMilliseconds: answerMilliseconds)
    var pong: [UInt8] = []
    payload.withRawSpan { FrameEncoder.appendFrame(.pong, payload: $0, to: &pong) }
    var bytes: [UInt8] = []
    while bytes.count < pong.count {
      guard case .bytes(let more) = try connection.receive(until: deadline) else { break }
      bytes += more
    }
    guard bytes.starts(with: pong) else {
      return .failure("\(url): a WebSocket opens, but its frames do not pass")
    }
    let milliseconds = SystemClock.now().milliseconds(since: begin)
    return .ok("a WebSocket opens at \(url); a ping takes \(milliseconds) ms")
  }
}

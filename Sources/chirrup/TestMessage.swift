/// The last step of `chirrup setup`: a message that goes the way of a visitor's, by the widget's
/// token and socket, so that its acknowledgement shows that those of a website's visitors arrive.
import HTTPClient
import JSON
import Kernel
import OpenSSL
import Primitives
import Wire

struct TestMessage {
  static let body = "A test message of chirrup setup"
  private static let milliseconds = 10_000
  private static let answerBytesMax = 65_536

  /// Of the gateway, without a slash at its end.
  let url: String
  /// The public key of the workspace.
  let key: String

  /// - Returns: the milliseconds from the message to its acknowledgement, after it was stored.
  func send() throws -> Int64 {
    let (session, token) = try visitor()
    let connection = try RawConnection(to: url, milliseconds: TestMessage.milliseconds)
    let deadline = SystemClock.now().advanced(byMilliseconds: Int64(TestMessage.milliseconds))
    try upgrade(connection, until: deadline)
    var frames = frame(
      .object { json in
        json.appendMember("type", "hello")
        json.appendMember("ref", 1 as Int64)
        json.appendMember("token", token)
        json.appendKey("subscribe")
        json +=
          Array("[".utf8) + [UInt8].object { $0.appendMember("session", session) }
          + Array("]".utf8)
      })
    frames += frame(
      .object { json in
        json.appendMember("type", "send")
        json.appendMember("ref", 2 as Int64)
        json.appendMember("session", session)
        json.appendMember("id", Identifier.random())
        json.appendMember("body", TestMessage.body)
      })
    let begin = SystemClock.now()
    try connection.send(frames)
    // Without compression the frames have their JSON as it is.
    let text = try read(connection, until: deadline) {
      $0.contains(#""type":"ack""#) || $0.contains(#""type":"error""#)
    }
    guard text.contains(#""type":"ack""#) else {
      throw CommandFailure("the gateway did not acknowledge the message")
    }
    return max(1, SystemClock.now().milliseconds(since: begin))
  }

  private func visitor() throws -> (session: String, token: String) {
    let context = [UInt8].object { json in
      json.appendMember("workspace", key)
      json.appendObject("context") { $0.appendMember("title", "chirrup setup") }
    }
    let request = HTTPRequest(
      url: "\(url)/api/v1/widget/token",
      headers: ["Content-Type: application/json", "Origin: \(url)"], body: context,
      milliseconds: TestMessage.milliseconds, responseBytesMax: TestMessage.answerBytesMax)
    switch HTTPClient.outcome(of: request, admits: { _ in true }) {
    case .answered(let status, let body, _):
      guard let answer = JSONValue(body), let token = answer["token"]?.string,
        let session = answer["session"]?.string
      else { throw CommandFailure("\(url) answered with status \(status), and no token") }
      return (session, token)
    case .refused: throw CommandFailure("\(url) cannot be reached")
    case .failed(let reason): throw CommandFailure("\(url) cannot be reached: \(reason)")
    }
  }

  private func upgrade(_ connection: RawConnection, until deadline: Instant) throws {
    // 16 bytes are 22 digits and two padding characters (RFC 6455 §4.1).
    let key = Base64.standard.encode(SecureRandom.bytes(16)) + "=="
    try connection.send(
      HTTPAnswer.request(
        "GET", "\(url)/api/v1/ws",
        fields: "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\n"
          + "Sec-WebSocket-Protocol: chirrup.v1\r\nOrigin: \(url)\r\n", connection: "Upgrade"))
    let head = try read(connection, until: deadline) { $0.contains("\r\n\r\n") }
    guard head.hasPrefix("HTTP/1.1 101") else {
      let line = head.prefix { $0 != "\r\n" }
      throw CommandFailure("\(url)/api/v1/ws refused the WebSocket: \(line)")
    }
  }

  private func read(
    _ connection: RawConnection, until deadline: Instant, _ isWhole: (String) -> Bool
  ) throws -> String {
    var bytes: [UInt8] = []
    while bytes.count < TestMessage.answerBytesMax {
      guard case .bytes(let more) = try connection.receive(until: deadline) else { break }
      bytes += more
      let text = String(decoding: bytes, as: UTF8.self)
      if isWhole(text) { return text }
    }
    throw CommandFailure("\(url) did not answer in time")
  }

  private func frame(_ json: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    let mask = SecureRandom.bytes(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    json.withRawSpan {
      FrameEncoder.appendMaskedFrame(.text, payload: $0, maskKey: mask, to: &bytes)
    }
    return bytes
  }
}

import Primitives
import Wire

/// The opening handshake up to the 101, without admission.
extension Work {
  static let handshakes = [
    Work("upgrade", "a browser's opening handshake parsed and answered") { Upgrading() }
  ]
}

struct Upgrading: Workload, ~Copyable {
  private let head = Array(
    """
    GET /api/v1/ws HTTP/1.1\r
    Host: chat.example.com\r
    Connection: Upgrade\r
    Pragma: no-cache\r
    Cache-Control: no-cache\r
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
    Chrome/140.0.0.0 Safari/537.36\r
    Upgrade: websocket\r
    Origin: https://shop.example.com\r
    Sec-WebSocket-Version: 13\r
    Accept-Encoding: gzip, deflate, br, zstd\r
    Accept-Language: en-GB,en;q=0.9\r
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
    Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r
    Sec-WebSocket-Protocol: chirrup.v1\r
    \r

    """.utf8)

  mutating func run(_ count: Int) {
    var accepted = 0
    head.withRawSpan { bytes in
      for _ in 0..<count {
        var scanner = HeadScanner()
        guard let end = try? scanner.scan(bytes),
          let request = try? RequestHead.parse(bytes.extracting(0..<end)),
          case .accept = Upgrade.evaluate(request, subprotocol: "chirrup.v1")
        else { continue }
        accepted += 1
      }
    }
    precondition(accepted == count, "the workload's handshake is valid")
  }
}

import Primitives
import Testing

@testable import VirusScan

@Suite struct ClamAnswerTests {
  @Test("the answers of clamd")
  func answers() {
    #expect(ClamAnswer(Array("stream: OK".utf8)) == .clean)
    #expect(
      ClamAnswer(Array("stream: Eicar-Test-Signature FOUND".utf8))
        == .infected("Eicar-Test-Signature"))
    #expect(
      ClamAnswer(Array("INSTREAM size limit exceeded. ERROR".utf8))
        == .refused("INSTREAM size limit exceeded. ERROR"))
  }

  @Test("only the exact word is clean; names are bounded and printable")
  func hostile() {
    for text in [
      "", "OK ", "ok", "stream: OKAY", "stream: OK\n", "x OK", "stream: stream: OK", " FOUND",
      "stream: OK FOUND ERROR",
    ] {
      guard case .refused = ClamAnswer(Array(text.utf8)) else {
        Issue.record("\(text)")
        continue
      }
    }
    let name = [UInt8](repeating: 0x1B, count: 900) + Array(" FOUND".utf8)
    guard case .infected(let found) = ClamAnswer(name) else {
      Issue.record("not infected")
      return
    }
    #expect(found == String(repeating: "?", count: ClamAnswer.nameBytesMax))
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      #expect(ClamAnswer(bytes) != .clean)
    }
  }

  @Test("addresses of scanners")
  func addresses() {
    #expect(ClamAddress("unix:/run/clamav/clamd.ctl") == .path("/run/clamav/clamd.ctl"))
    #expect(ClamAddress("tcp:127.0.0.1") == .host("127.0.0.1", port: 3310))
    #expect(ClamAddress("tcp:[::1]:3311")?.description == "tcp:[::1]:3311")
    for text in ["", "unix:", "unix:relative", "tcp:", "tcp:host:x", "udp:host", "127.0.0.1:3310"] {
      #expect(ClamAddress(text) == nil, "\(text)")
    }
  }
}

/// The PROXY header, version 2: complete, cut, hostile.
import Primitives
import Testing
import Wire

@Suite("PROXY header (faults H27)")
struct ProxyHeaderTests {
  static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

  /// 203.0.113.7:1234 to 10.0.0.1:80, and behind the addresses `extra` bytes.
  static func version4(command: UInt8 = 0x21, family: UInt8 = 0x11, extra: Int = 0) -> [UInt8] {
    let length = 12 + extra
    return signature + [command, family, UInt8(length >> 8), UInt8(length & 255)]
      + [203, 0, 113, 7, 10, 0, 0, 1, 4, 210, 0, 80] + Array(repeating: 4, count: extra)
  }

  static let client = ProxyHeader.Source.client(high: 0, low: 0xFFFF_CB00_7107, port: 1234)

  /// Gives the reader no more than it wants, in pieces of at most `pieceBytes`.
  private func read(
    _ bytes: [UInt8], pieceBytes: Int = .max
  ) throws(ProxyFault) -> (source: ProxyHeader.Source?, taken: Int) {
    var header = ProxyHeader()
    var taken = 0
    while taken < bytes.count {
      let count = min(header.wantedByteCount, pieceBytes, bytes.count - taken)
      let source = try Array(bytes[taken..<taken + count]).withRawSpan {
        (piece) throws(ProxyFault) in try header.receive(piece)
      }
      taken += count
      if let source { return (source, taken) }
    }
    return (nil, taken)
  }

  @Test(
    "the address is read at every cut, and the bytes after the header remain", arguments: 1...30)
  func cut(_ pieceBytes: Int) throws {
    let (source, taken) = try read(
      Self.version4(extra: 9) + Array("GET /".utf8), pieceBytes: pieceBytes)
    #expect(source == Self.client)
    #expect(taken == 28 + 9)
  }

  @Test("IPv6")
  func version6() throws {
    let address: [UInt8] = [0x20, 1, 0xD, 0xB8] + Array(repeating: 0, count: 11) + [9]
    let bytes = Self.signature + [0x21, 0x21, 0, 36] + address + address + [1, 2, 3, 4]
    #expect(
      try read(bytes).source == .client(high: 0x2001_0DB8_0000_0000, low: 9, port: 0x0102))
  }

  @Test("a LOCAL header keeps the proxy's own address")
  func local() throws {
    #expect(try read(Self.version4(command: 0x20)).source == .proxy)
    #expect(try read(Self.version4(family: 0x00)).source == .proxy)
    #expect(try read(Self.version4(family: 0x31, extra: 216 - 12)).source == .proxy)
    #expect(try read(Self.signature + [0x20, 0, 0, 0]).source == .proxy)
  }

  @Test("garbage is refused at its first wrong byte")
  func garbage() {
    for (text, fault) in [
      ("GET / HTTP/1.1\r\n", ProxyFault.noHeader), ("PROXY TCP4 1.2.3.4", .versionOne),
      ("P", .versionOne), ("\u{16}\u{3}\u{1}", .noHeader), ("\r\n\r\nGET", .noHeader),
    ] {
      #expect(throws: fault, "\(text)") { try read(Array(text.utf8), pieceBytes: 1) }
    }
    for position in 0..<12 {
      var bytes = Self.version4()
      bytes[position] ^= 1
      #expect(throws: ProxyFault.self) { try read(bytes) }
    }
  }

  @Test("versions, commands, families and lengths that do not exist are refused")
  func malformed() {
    for command: UInt8 in [0x11, 0x22, 0x31, 0x2F, 0] {
      #expect(throws: ProxyFault.malformed) { try read(Self.version4(command: command)) }
    }
    for family: UInt8 in [0x12, 0x41, 0x13, 0xFF] {
      #expect(throws: ProxyFault.malformed) { try read(Self.version4(family: family)) }
    }
    #expect(throws: ProxyFault.malformed) {
      try read(Self.signature + [0x21, 0x11, 0, 4, 1, 2, 3, 4])
    }
    #expect(throws: ProxyFault.malformed) { try read(Self.version4(family: 0x21, extra: 23)) }
  }

  @Test("a header may have 4,096 bytes; more is refused on its length")
  func bound() throws {
    #expect(try read(Self.version4(extra: 4_096 - 28)).source == Self.client)
    #expect(throws: ProxyFault.tooLong) {
      try read(Array(Self.version4(extra: 4_097 - 28).prefix(16)))
    }
  }
}

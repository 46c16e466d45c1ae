import Primitives
import Testing

@Suite struct ByteWritingTests {
  @Test(
    "numbers are written in decimal",
    arguments: [0, 1, -1, 9, 10, -10, 99, 100, 12_345, -12_345, .max, .min] as [Int64])
  func decimal(_ value: Int64) {
    var bytes = Array("x".utf8)
    bytes.append(decimal: value)
    #expect(String(decoding: bytes, as: UTF8.self) == "x\(value)")
  }

  @Test("integers are written most significant byte first, and read back")
  func bigEndian() {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: UInt16(0x0102))
    bytes.append(bigEndian: UInt32(0x0304_0506))
    bytes.append(bigEndian: UInt64(0x0708_090A_0B0C_0D0E))
    #expect(bytes == Array(1...14))
    bytes.withRawSpan { span in
      #expect(span.byte(at: 13) == 14)
      #expect(span.uint16(at: 1) == 0x0203)
      #expect(span.uint64(at: 6) == 0x0708_090A_0B0C_0D0E)
    }
  }

  @Test("texts and spans are appended as they are")
  func texts() {
    var bytes: [UInt8] = []
    bytes.append("static é" as StaticString)
    bytes.append(" dynamic €" as String)
    Array("!?".utf8).withRawSpan { bytes.append($0) }
    #expect(String(decoding: bytes, as: UTF8.self) == "static é dynamic €!?")
  }

  @Test("a span equals a text of the same bytes, and no other")
  func equality() {
    let bytes = Array("type".utf8)
    bytes.withRawSpan { span in
      #expect(span.equals("type") && !span.equals("typo") && !span.equals("types"))
      #expect(!span.equals("") && span.extracting(0..<0).equals(""))
    }
  }

  @Test("invalid UTF-8 becomes U+FFFD in a text for people")
  func repair() {
    #expect([0x61, 0xFF, 0x62].withRawSpan { $0.string } == "a\u{FFFD}b")
  }

  @Test("a lent span is written in place")
  func inPlace() {
    var bytes: [UInt8] = [1, 2, 3]
    bytes.withMutableRawSpan { $0.storeBytes(of: 9, toByteOffset: 1, as: UInt8.self) }
    #expect(bytes == [1, 9, 3])
  }

  @Test("reading outside a span traps instead of reading elsewhere")
  func bounds() async {
    await #expect(processExitsWith: .failure) {
      _ = [1, 2, 3].withRawSpan { $0.byte(at: 3) }
    }
    await #expect(processExitsWith: .failure) {
      _ = [1, 2, 3, 4, 5, 6, 7, 8].withRawSpan { $0.uint64(at: 1) }
    }
    await #expect(processExitsWith: .failure) {
      _ = [1, 2].withRawSpan { $0.uint16(at: 1) }
    }
  }
}

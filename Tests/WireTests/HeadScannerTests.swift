import Primitives
import Testing
import Wire

/// The scanner's result for a head that grows by `step` bytes at a time.
private func scan(_ head: [UInt8], step: Int) -> Result<Int?, HeadFault> {
  var scanner = HeadScanner()
  for count in stride(from: step, to: head.count + step, by: step) {
    let received = Array(head.prefix(count))
    do throws(HeadFault) {
      if let end = try received.withRawSpan({ (span) throws(HeadFault) in try scanner.scan(span) })
      {
        return .success(end)
      }
    } catch {
      return .failure(error)
    }
  }
  return .success(nil)
}

private let simple = bytes("GET / HTTP/1.1\r\nHost: example.test\r\n\r\n")

@Suite struct HeadScannerTests {
  @Test(
    "the end of a head is found at every cut, and the bytes after it remain",
    arguments: 1...50)
  func finds(_ step: Int) {
    #expect(scan(simple, step: step) == .success(simple.count))
    #expect(scan(simple + bytes("GET /next HTTP/1.1\r\n"), step: 200) == .success(simple.count))
    #expect(scan(Array(simple.dropLast()), step: step) == .success(nil))
  }

  @Test(
    "one empty line before the request is ignored, two are not (RFC 9112 §2.2)", arguments: 1...8)
  func emptyLines(_ step: Int) {
    let blank = bytes("\r\n")
    #expect(scan(blank + simple, step: step) == .success(simple.count + 2))
    #expect(scan(blank + blank + simple, step: step) == .failure(.requestLineInvalid))
    #expect(scan(blank, step: step) == .success(nil))
  }

  // Not as arguments: a test's arguments are printed, and a terminal would execute these.
  @Test("control characters end a head at once (RFC 9112 §2.2)")
  func controlCharacters() {
    let heads = [
      "GET / HTTP/1.1\nHost: a\r\n", "GET / HTTP/1.1\r\rHost: a", "GET / HTTP/1.1\r\nHost: a\n",
      "GET / HTTP/1.1\r\nA: b\0c\r\n", "GET / HTTP/1.1\r\nA: b\rc\r\n", "GET\u{7F}",
      "GET / HTTP/1.1\r\nA: \u{1B}[0m", "\u{16}\u{3}\u{1}", "\n",
    ]
    for head in heads {
      #expect(scan(bytes(head), step: 1) == .failure(.controlCharacter))
      #expect(scan(bytes(head), step: 1_000) == .failure(.controlCharacter))
    }
  }

  @Test("each control character is found at each place of a word, and no other byte is one")
  func everyPlace() {
    for byte in UInt8.min...UInt8.max {
      for place in 0..<24 {
        var head = bytes("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 32))
        head[19 + place] = byte
        let isControl = byte < 0x20 && byte != 0x09 || byte == 0x7F
        #expect(
          scan(head, step: 1_000) == (isControl ? .failure(.controlCharacter) : .success(nil)))
      }
    }
  }

  @Test("a head of exactly 16 KiB passes, one byte more is 431, a line that never ends 414")
  func limit() {
    let start = bytes("GET / HTTP/1.1\r\nHost: a\r\nX: ")
    let filler = HeadLimits.headBytes - start.count - 4
    let full = start + [UInt8](repeating: UInt8(ascii: "x"), count: filler) + bytes("\r\n\r\n")
    #expect(full.count == HeadLimits.headBytes)
    #expect(scan(full, step: 1_000) == .success(full.count))
    #expect(scan(full + bytes("more"), step: 100_000) == .success(full.count))
    let over = start + [UInt8](repeating: UInt8(ascii: "x"), count: filler + 1) + bytes("\r\n\r\n")
    #expect(scan(over, step: 1) == .failure(.headTooLong))
    let line = bytes("GET /") + [UInt8](repeating: UInt8(ascii: "x"), count: 20_000)
    #expect(scan(line, step: 999) == .failure(.targetTooLong))
    #expect(HeadFault.headTooLong.status == 431 && HeadFault.targetTooLong.status == 414)
  }

  @Test("16 KiB in 1-byte segments look at each byte once (H13)")
  func linear() {
    // Scanned bytes are never read again, so overwriting them behind the scanner changes
    // nothing.
    let filler = [UInt8](repeating: UInt8(ascii: "x"), count: 15_000)
    var head = bytes("GET / HTTP/1.1\r\nHost: a\r\nX: ") + filler + bytes("\r\n\r\n")
    let whole = head.count
    var scanner = HeadScanner()
    var end: Int?
    for count in 1...whole {
      end = head.withRawSpan { try? scanner.scan($0.extracting(0..<count)) }
      if count > 1 { head[count - 2] = 0 }
    }
    #expect(end == whole)
  }
}

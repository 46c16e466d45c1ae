import JSON
import Primitives
import Testing

private func decode(_ json: String) -> Result<String, JSONText.Fault> {
  Array(json.utf8).withRawSpan { bytes in
    var scanner = JSONScanner()
    guard let token = try? scanner.value(bytes, depth: 0) else { return .success("(syntax)") }
    var text: [UInt8] = []
    do throws(JSONText.Fault) {
      try JSONText.decode(token, in: bytes, to: &text)
      return .success(String(decoding: text, as: UTF8.self))
    } catch {
      return .failure(error)
    }
  }
}

private func quote(_ text: String) -> String {
  var output: [UInt8] = []
  JSONText.append(quoted: Array(text.utf8), to: &output)
  return String(decoding: output, as: UTF8.self)
}

@Suite("Strings of JSON (RFC 8259 §7)")
struct JSONTextTests {
  @Test("escapes and surrogate pairs are decoded")
  func escapes() {
    #expect(decode(#""a\n\t\r\b\f\/\\\"é""#) == .success("a\n\t\r\u{8}\u{C}/\\\"é"))
    #expect(decode(#""\u0e01\u00e9\ud83d\ude00""#) == .success("กé😀"))
  }

  @Test("a quote, a backslash or a control character is found at every offset")
  func everyPlace() {
    for count in 0..<40 {
      let text = String(repeating: "é", count: count / 2) + String(repeating: "a", count: count % 2)
      #expect(decode("\"\(text)\"") == .success(text))
      #expect(decode("\"\(text)\" and more than eight bytes behind") == .success(text))
      #expect(decode("\"\(text)\\\"b\\\\\"") == .success(text + "\"b\\"))
      for control in ["\0", "\u{1}", "\u{1F}", "\n"] {
        #expect(decode("\"\(text)\(control)and more bytes\"") == .success("(syntax)"))
      }
      #expect(decode("\"\(text)\u{7F}!#[]\u{80}\"") == .success(text + "\u{7F}!#[]\u{80}"))
    }
  }

  @Test("U+0000 and unpaired surrogates are refused (faults P07)")
  func refused() {
    #expect(decode(#""a\u0000""#) == .failure(.null))
    #expect(decode(#""\ud800""#) == .failure(.loneSurrogate))
    #expect(decode(#""\ud800\u0041""#) == .failure(.loneSurrogate))
    #expect(decode(#""\udc00\ud800""#) == .failure(.loneSurrogate))
  }

  @Test(
    "a quoted text is decoded to the same text",
    arguments: [
      "", "plain", "\"quoted\" \\ back", "line\nfeed\ttab\u{1}\u{1F}",
      "สวัสดี مرحبا 👩‍👩‍👧‍👦 \u{202E}abc",
      "'; DROP TABLE chats; --", "${x} {{y}} #{z} %s $1",
    ])
  func roundTrip(_ text: String) {
    #expect(decode(quote(text)) == .success(text))
  }

  @Test("every byte is classified correctly at every offset, also beside non-ASCII bytes")
  func places() {
    for byte in UInt8.min...UInt8.max {
      for place in 0..<19 {
        var text = [UInt8](repeating: 0x61, count: 19)
        text[(place + 1) % 19] = 0xBF
        text[place] = byte
        var quoted: [UInt8] = []
        JSONText.append(quoted: text, to: &quoted)
        let isSpecial = byte < 0x20 || byte == 0x22 || byte == 0x5C
        #expect((quoted.count > 21) == isSpecial, "byte \(byte) at \(place)")
        #expect(quoted.prefix(place + 1) == [0x22] + text[..<place])
        #expect(quoted.suffix(19 - place) == text[(place + 1)...] + [0x22])
      }
    }
  }

  @Test("a payload is copied without white space between its tokens")
  func compact() throws {
    let payload = Array("{ \"a b\" : [ 1 ,\n 2 ] , \"c\":\"\\u0041 \\\" x\" }".utf8)
    var output: [UInt8] = []
    try payload.withRawSpan { try JSONText.appendCompact($0, to: &output) }
    #expect(
      String(decoding: output, as: UTF8.self) == #"{"a b":[1,2],"c":"\u0041 \" x"}"#)
    for bad in [#"{"a":"\u0000"}"#, #"{"\ud800":1}"#] {
      #expect(throws: JSONText.Fault.self) {
        try Array(bad.utf8).withRawSpan { try JSONText.appendCompact($0, to: &output) }
      }
    }
  }
}

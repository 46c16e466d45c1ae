import Primitives
import Testing

/// A text composed on the stack equals an array to which the same pieces are appended.
@Suite struct ShortTextTests {
  private func text(_ compose: (inout ShortText) -> Void) -> String {
    var short = ShortText()
    compose(&short)
    var bytes = Array("> ".utf8)
    bytes.append(short)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func append(_ words: String, to short: inout ShortText) {
    Array(words.utf8).withRawSpan { short.append($0) }
  }

  @Test(arguments: [0, 1, -1, 9, 10, -10, 99, 100, 12_345, -12_345, .max, .min] as [Int64])
  func `a decimal number is appended as its digits`(_ value: Int64) {
    #expect(text { $0.append(decimal: value) } == "> \(value)")
  }

  @Test("ids, times, constants and spans follow each other without a gap")
  func pieces() {
    let id = Identifier(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210)
    let time = WallTime(microseconds: 1_795_270_627_042_000)
    let words = text {
      $0.append("{\"id\":\"")
      $0.append(id)
      $0.append("\",\"at\":\"")
      $0.append(time)
      $0.append("" as StaticString)
      append("\",é€", to: &$0)
      $0.append(id)
    }
    #expect(words == "> {\"id\":\"\(id)\",\"at\":\"\(time)\",é€\(id)")
  }

  @Test("a text has at most 256 bytes; more is a programming error")
  func bound() async {
    let full = String(repeating: "x", count: 256)
    let held = text { append(full, to: &$0) }
    #expect(held == "> \(full)")
    await #expect(processExitsWith: .failure) {
      var short = ShortText()
      for _ in 0..<7 { short.append(Identifier.zero) }
      short.append("12345")
    }
  }
}

import Primitives
import Testing
import Wire

/// The number of bytes accepted before a text is refused; nil when it is valid.
private func refusedAt(_ text: [UInt8]) -> Int? {
  var validator = UTF8Validator()
  return text.withRawSpan { span in
    for offset in 0..<span.byteCount where !validator.accept(span, in: offset..<offset + 1) {
      return offset
    }
    return nil
  }
}

private func isValid(_ text: [UInt8]) -> Bool { text.withRawSpan { UTF8Validator.isValid($0) } }

private let impossible: [(name: String, text: [UInt8], at: Int)] = [
  ("a lone continuation byte", [0x80], 0),
  ("the last continuation byte", [0xBF], 0),
  ("C0, an overlong NUL", [0xC0, 0x80], 0),
  ("C1, an overlong letter", [0xC1, 0xBF], 0),
  ("E0 80 80, overlong in three bytes", [0xE0, 0x80, 0x80], 1),
  ("E0 9F BF, the longest of them", [0xE0, 0x9F, 0xBF], 1),
  ("F0 80 80 80, overlong in four bytes", [0xF0, 0x80, 0x80, 0x80], 1),
  ("F0 8F BF BF, the longest of them", [0xF0, 0x8F, 0xBF, 0xBF], 1),
  ("ED A0 80, the first surrogate", [0xED, 0xA0, 0x80], 1),
  ("ED BF BF, the last surrogate", [0xED, 0xBF, 0xBF], 1),
  ("F4 90 80 80, above U+10FFFF", [0xF4, 0x90, 0x80, 0x80], 1),
  ("F5, above U+10FFFF", [0xF5], 0),
  ("FE, which is no UTF-8 byte", [0xFE], 0),
  ("FF, which is no UTF-8 byte", [0xFF], 0),
  ("a character cut by a letter", [0xE2, 0x82, 0x41], 2),
  ("a character cut by another", [0xF0, 0x9F, 0xC3], 2),
]

private let edges: [[UInt8]] = [
  [0x00], [0x7F], [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF],
  [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
]

@Suite struct UTF8ValidatorTests {
  @Test(
    "the result equals the standard library's for random texts with a changed byte, in two pieces")
  func random() {
    var generator = SystemRandomNumberGenerator()
    let scalars: [ClosedRange<UInt32>] = [
      0x20...0x7E, 0x80...0x7FF, 0x800...0xFFFF, 0x10000...0x10FFFF,
    ]
    var validCount = 0
    for _ in 0..<3_000 {
      var text: [UInt8] = Array(repeating: 0x62, count: Int.random(in: 0...70, using: &generator))
      for _ in 0..<Int.random(in: 1...20, using: &generator) {
        let value = UInt32.random(in: scalars[Int.random(in: 0...3, using: &generator)])
        if let scalar = Unicode.Scalar(value) { text += Array(String(Character(scalar)).utf8) }
      }
      if Bool.random(using: &generator) && !text.isEmpty {
        text[Int.random(in: text.indices, using: &generator)] = UInt8.random(in: 0x60...0xFF)
      }
      let expected = String(validating: text, as: UTF8.self) != nil
      if expected { validCount += 1 }
      let cut = Int.random(in: 0...text.count, using: &generator)
      var validator = UTF8Validator()
      let isAccepted = text.withRawSpan {
        validator.accept($0, in: 0..<cut) && validator.accept($0, in: cut..<text.count)
      }
      if isValid(text) != expected || (isAccepted && validator.isComplete) != expected {
        Issue.record("\(text), cut at \(cut)")
      }
    }
    #expect(validCount > 500 && validCount < 2_900)
  }

  @Test("impossible bytes are refused at their offset (RFC 3629 §3, RFC 6455 §8.1)")
  func refuses() {
    for (name, text, at) in impossible {
      for lead in [0, 1, 7, 15, 16, 17, 33] {
        let padded = [UInt8](repeating: 0x61, count: lead) + text
        #expect(refusedAt(padded) == lead + at, "\(name) behind \(lead) letters")
        #expect(!isValid(padded + [0x61]), "\(name) behind \(lead) letters")
      }
    }
  }

  @Test("the first and last character of every length are accepted; incomplete ones are refused")
  func takes() {
    for text in edges {
      #expect(isValid(text), "\(text)")
      for count in 1..<max(text.count, 1) where text.count > 1 {
        let part = Array(text.prefix(count))
        #expect(refusedAt(part) == nil && !isValid(part), "\(part)")
      }
    }
  }

  @Test(
    "it agrees with the standard library about every text of two bytes and of three from E0 to F4")
  func agreesWithTheLibrary() {
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max {
        let pair = [first, second]
        #expect(isValid(pair) == (String(validating: pair, as: UTF8.self) != nil), "\(pair)")
        guard first >= 0xE0 && first <= 0xF4 else { continue }
        for third: UInt8 in [0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF] {
          let triple = [first, second, third]
          let expected = String(validating: triple, as: UTF8.self) != nil
          #expect(isValid(triple) == expected, "\(triple)")
          let four = triple + [0x80]
          #expect(isValid(four) == (String(validating: four, as: UTF8.self) != nil), "\(four)")
        }
      }
    }
  }

  @Test("a text message is refused at its first impossible byte, inside an unfinished frame (F16)")
  func failsFast() {
    for (name, text, at) in impossible {
      let frame = rawFrame(0x81, bytes("héllo ") + text + bytes(" and more to come"))
      // Six bytes of header, seven of greeting, and the byte that cannot be.
      let known = 6 + 7 + at + 1
      #expect(receive([Array(frame.prefix(known))]) == [.fault(.textInvalid)], "\(name)")
      #expect(receive([Array(frame.prefix(known - 1))]).isEmpty, "\(name)")
      #expect(receive(frame.map { [$0] }) == [.fault(.textInvalid)], "\(name)")
    }
  }

  @Test("a character may be split over fragments and segments at every byte (F17)")
  func splitCharacters() {
    let text = bytes("a\u{1F426}é€\u{10FFFF}z")
    for point in 0...text.count {
      let stream =
        rawFrame(0x01, Array(text[..<point])) + rawFrame(0x89)
        + rawFrame(0x80, Array(text[point...]))
      let expected: [Received] = [.ping([]), .message(.text, text)]
      #expect(receive([stream]) == expected)
      #expect(receive(stream.map { [$0] }) == expected)
    }
  }

  @Test("a text that ends inside a character is refused at its end (§8.1)")
  func incomplete() {
    #expect(receive([rawFrame(0x81, [0xE2, 0x82])]) == [.fault(.textInvalid)])
    let stream = rawFrame(0x01, [0x61, 0xE2]) + rawFrame(0x80)
    #expect(receive([stream]) == [.fault(.textInvalid)])
    #expect(receive([rawFrame(0x82, [0xE2, 0x82])]) == [.message(.binary, [0xE2, 0x82])])
  }
}

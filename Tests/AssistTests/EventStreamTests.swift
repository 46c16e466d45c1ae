import Testing

@testable import Assist

@Suite struct EventStreamTests {
  /// The events of a text that comes in pieces of `size` bytes.
  private func events(_ text: String, size: Int) throws -> [String] {
    var stream = EventStream()
    var events: [String] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = Array(bytes[start..<min(start + size, bytes.count)])
      events += try stream.push(piece).map { String(decoding: $0, as: UTF8.self) }
    }
    return events
  }

  private static let cases: [(text: String, events: [String])] = [
    ("data: a\n\ndata: b\n\n", ["a", "b"]),
    ("data: a\r\n\r\ndata: b\r\rdata:c\n\n", ["a", "b", "c"]),
    ("\u{FEFF}data: a\n\n", ["a"]),
    (": comment\n\ndata: a\n: another\ndata: b\n\n", ["a\nb"]),
    ("data:  two blanks\n\ndata\n\ndata:\n\n", [" two blanks", "", ""]),
    ("event: message\nid: 7\nretry: 5\ndata: ü€😀\n\n", ["ü€😀"]),
    ("datax: no\n dat: no\n\n\n\ndata: [DONE]\n\n", ["[DONE]"]),
    ("data: without its end", []),
    ("data: without its blank line\n", []),
  ]

  @Test("events are the same however the bytes are split (WHATWG HTML §9.2.6)")
  func splits() throws {
    for (text, expected) in EventStreamTests.cases {
      for size in 1...max(1, text.utf8.count) {
        #expect(try events(text, size: size) == expected, "\(text.debugDescription), \(size)")
      }
    }
  }

  @Test("any two cuts of all texts together give the same events")
  func cuts() throws {
    let text = Array(EventStreamTests.cases.dropLast(2).map(\.text).joined().utf8.dropFirst(0))
    var whole = EventStream()
    let expected = try whole.push(text)
    for first in 0...text.count {
      for second in stride(from: first, through: text.count, by: 7) {
        var stream = EventStream()
        var found = try stream.push(Array(text[..<first]))
        found += try stream.push(Array(text[first..<second]))
        found += try stream.push(Array(text[second...]))
        #expect(found == expected)
      }
    }
  }

  @Test("an event has a limit, on one line or on many; the limit itself is accepted")
  func limits() throws {
    let room = EventStream.dataBytesMax - "data: ".utf8.count
    let longest = "data: " + String(repeating: "x", count: room) + "\n\n"
    #expect(try events(longest, size: 4_096).first?.utf8.count == room)
    #expect(throws: EventStream.Fault.tooLong) {
      try events("data: " + String(repeating: "x", count: room + 1), size: 4_096)
    }
    #expect(throws: EventStream.Fault.tooLong) {
      try events(String(repeating: "data: 0123456789\n", count: 6_000), size: 4_096)
    }
  }
}

import Primitives
import Testing

@testable import chirrup_load

@Suite struct StampTests {
  let stamp = Stamp(
    nonce: 0xABC, wall: WallTime(microseconds: 1_800_000_000_000_000),
    now: Instant(nanoseconds: 77_000_000_000))

  @Test(arguments: [0, 1, 999_999, 1_000_000, 123_456_789, 59_999_999_999])
  func `an id contains the due time, the sender and the number`(nanoseconds: Int64) {
    let due = Instant(nanoseconds: 77_000_000_000 + nanoseconds)
    let id = stamp.identifier(due: due, client: Stamp.clientsMax - 1, number: Stamp.numbersMax - 1)
    #expect(stamp.isOwn(id))
    #expect(stamp.client(of: id) == Stamp.clientsMax - 1)
    #expect(stamp.number(of: id) == Stamp.numbersMax - 1)
    #expect((0...245).contains(due.nanoseconds - stamp.due(of: id).nanoseconds))
  }

  @Test func `an id has version 7 and belongs to this run only`() {
    let id = stamp.identifier(due: Instant(nanoseconds: 77_000_000_000), client: 1, number: 2)
    let text = Array(id.description)
    #expect(text[14] == "7" && text[19] == "a")
    let other = Stamp(
      nonce: 0xABD, wall: WallTime(microseconds: 1_800_000_000_000_000), now: .zero)
    #expect(!other.isOwn(id))
  }
}

@Suite struct BodiesTests {
  @Test(arguments: [36, 37, 100, 4096, 16_384])
  func `a body is text of the requested length and is recognised by its id`(byteCount: Int) throws {
    let bodies = Bodies(byteCount: byteCount)
    for low in UInt64(0)..<64 {
      let id = Identifier(high: 0x0190_0000_0000_7000, low: 1 << 63 | low)
      let body = bodies.body(of: id)
      #expect(body.count == byteCount)
      #expect(String(validating: body, as: UTF8.self) != nil)
      #expect(bodies.isBody(body, of: id))
      var json = Array("\"".utf8)
      bodies.appendEscapedBody(of: id, to: &json)
      json.append(UInt8(ascii: "\""))
      let decoded = json.withRawSpan { span -> [UInt8]? in
        var cursor = JSONCursor()
        return (try? cursor.string(span)).flatMap { unescaped($0, in: span) }
      }
      #expect(decoded == body)
      var changed = body
      changed[byteCount - 1] ^= 1
      #expect(!bodies.isBody(changed, of: id))
    }
  }
}

@Suite struct JSONCursorTests {
  func text(_ json: String) -> String? {
    Array(json.utf8).withRawSpan { span in
      var cursor = JSONCursor()
      guard let string = try? cursor.string(span), let bytes = unescaped(string, in: span) else {
        return nil
      }
      return String(validating: bytes, as: UTF8.self)
    }
  }

  @Test func `escapes are resolved`() {
    #expect(text(#""a\"b\\c\/d\n\t\r\b\f""#) == "a\"b\\c/d\n\t\r\u{8}\u{C}")
    #expect(text(#""\u0e2a\ud83d\ude42""#) == "ส🙂")
  }

  @Test(arguments: [#""\ud83d""#, #""\ud83d\u0041""#, #""\ux000""#, #""\q""#, #""open"#])
  func `wrong escapes are refused`(json: String) {
    #expect(text(json) == nil)
  }

  @Test func `unknown values of any shape are skipped`() throws {
    let json = #"{"type":"ack","x":{"a":[1,-2.5e3,"}]",null,{"b":[]}]},"ref":7,"y":null} {"#
    try Array(json.utf8).withRawSpan { span in
      var cursor = JSONCursor()
      let event = try ServerEvent(span, &cursor)
      #expect(event.kind == .ack)
      #expect(event.ref == 7)
      let more = cursor.skipBlanks(span)
      #expect(more)
    }
  }

  @Test(arguments: ["", "{", "{\"type\"}", "{\"seq\":x}", "[1]", "{\"a\":1,}", "{\"type\":\"a"])
  func `malformed text is a fault`(json: String) {
    #expect(throws: JSONFault.self) {
      try Array(json.utf8).withRawSpan { span throws(JSONFault) in
        var cursor = JSONCursor()
        _ = try ServerEvent(span, &cursor)
      }
    }
  }
}

@Suite struct OutboxTests {
  func filled(_ count: Int) -> Outbox {
    var outbox = Outbox()
    for number in 0..<count {
      outbox.append(Identifier(high: 1, low: UInt64(number)), subscription: 0)
    }
    return outbox
  }

  @Test func `acks in any order settle their messages, and the counts stay right`() {
    var outbox = filled(1000)
    for _ in 0..<1000 { _ = outbox.takeNext() }
    for number in stride(from: 999, through: 0, by: -1) { outbox.settle(number) }
    #expect(outbox.unsettled == 0 && outbox.inFlight == 0 && outbox.made == 1000)
    outbox.append(.zero, subscription: 0)
    #expect(outbox.entry(1000) != nil && outbox.entry(999) == nil)
  }

  @Test func `a rewind sends the unsettled messages again in order`() {
    var outbox = filled(5)
    for _ in 0..<4 { _ = outbox.takeNext() }
    outbox.settle(1)
    outbox.fail(2)
    #expect(outbox.isHeld && outbox.next == nil)
    outbox.rewind()
    var order: [UInt64] = []
    while let entry = outbox.next {
      order.append(entry.id.low)
      let isResend = outbox.takeNext()
      #expect(isResend == (entry.id.low < 4))
    }
    #expect(order == [0, 2, 3, 4])
    #expect(outbox.inFlight == 4)
  }
}

@Suite struct ArrivalsTests {
  @Test(arguments: Arrivals.Spacing.allCases)
  func `the rate is kept whenever it is read`(spacing: Arrivals.Spacing) {
    var arrivals = Arrivals(
      perSecond: 1000, spacing: spacing, from: .zero, seconds: 20, seed: 42)
    var count = 0
    var last = Instant.zero
    while let due = arrivals.take(Instant(nanoseconds: 30_000_000_000)) {
      #expect(due >= last)
      last = due
      count += 1
    }
    #expect(arrivals.isOver)
    #expect((19_400...20_600).contains(count))
  }
}

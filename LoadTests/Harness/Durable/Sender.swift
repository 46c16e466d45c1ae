/// One sender of `durable`, the queue of senders, and a fast reader of their two most frequent
/// events.
import Primitives

struct Sender {
  let session: Identifier
  var inFlightMax = 1
  /// The number of messages made, which is the number of the next one.
  var made = 0
  /// Messages without an ack, oldest first.
  var flying: [Identifier] = []
  /// Whether it is in the queue of senders with nothing in flight.
  var isQueued = false
  /// Whether it waits to send its messages in flight again.
  var isHeld = false
  var retryAt = Instant.zero
  private var allowance = SendAllowance()

  init(session: Identifier) { self.session = session }

  mutating func takeTokens(_ count: Int, _ now: Instant) -> Bool {
    allowance.take(count, now)
  }
}

/// A ring buffer that contains every sender at most once.
struct ReadyQueue {
  private var ring: [Int]
  private var head = 0
  private var count = 0

  init(capacity: Int) { ring = Array(repeating: 0, count: capacity) }

  var first: Int? { count > 0 ? ring[head] : nil }

  mutating func append(_ number: Int) {
    precondition(count < ring.count, "a sender stands in the queue once")
    ring[(head + count) % ring.count] = number
    count += 1
  }

  mutating func removeFirst() {
    head = (head + 1) % ring.count
    count -= 1
  }
}

/// An ack or a message, read at the offsets at which the gateway writes its fields. Anything else,
/// and any other spelling of the two, is `other` and read by `ServerEvent`.
enum QuickEvent: Equatable {
  case ack(ref: Int, id: Identifier, seq: Int)
  case message(id: Identifier, seq: Int)
  case other

  init(_ text: RawSpan) {
    var reader = Reader()
    if reader.take("{\"type\":\"ack\",\"ref\":", text), let ref = reader.number(text),
      reader.take(",\"session\":\"", text), reader.skip(Identifier.textByteCount, text),
      reader.take("\",\"id\":\"", text), let id = reader.identifier(text),
      reader.take("\",\"seq\":", text), let seq = reader.number(text),
      reader.take(",\"at\":\"", text)
    {
      self = .ack(ref: ref, id: id, seq: seq)
      return
    }
    reader = Reader()
    if reader.take("{\"type\":\"message\",\"session\":\"", text),
      reader.skip(Identifier.textByteCount, text), reader.take("\",\"seq\":", text),
      let seq = reader.number(text), reader.take(",\"id\":\"", text),
      let id = reader.identifier(text), reader.take("\",\"sender\":", text)
    {
      self = .message(id: id, seq: seq)
      return
    }
    self = .other
  }

  private struct Reader {
    private var offset = 0

    mutating func take(_ word: StaticString, _ text: RawSpan) -> Bool {
      let end = offset + word.utf8CodeUnitCount
      guard end <= text.byteCount, text.extracting(offset..<end).equals(word) else { return false }
      offset = end
      return true
    }

    mutating func skip(_ count: Int, _ text: RawSpan) -> Bool {
      offset += count
      return offset <= text.byteCount
    }

    mutating func number(_ text: RawSpan) -> Int? {
      var value = 0
      let start = offset
      while offset < text.byteCount, offset - start < 18 {
        let digit = text.byte(at: offset) &- UInt8(ascii: "0")
        if digit > 9 { break }
        value = value * 10 + Int(digit)
        offset += 1
      }
      return offset > start ? value : nil
    }

    mutating func identifier(_ text: RawSpan) -> Identifier? {
      let end = offset + Identifier.textByteCount
      guard end <= text.byteCount else { return nil }
      defer { offset = end }
      return Identifier(text: text.extracting(offset..<end))
    }
  }
}

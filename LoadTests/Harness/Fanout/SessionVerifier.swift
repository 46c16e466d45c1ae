/// The subscribers of one session, and the messages that each has received; pure.
///
/// Every subscriber must receive seq from, from + 1, from + 2, … without a hole or a repetition.
/// The first copy of a message determines its sender, body and time; all other subscribers must
/// receive the same number of bytes under the same seq, and for a sample of them, or all, the same
/// bytes.
import Histogram
import Primitives
import Wire

struct SessionVerifier {
  struct Subscriber {
    var walker = FrameWalker()
    /// The next expected seq; 0 before `subscribed`.
    var next = 0
    var isLive = false
    var hasPart = false
    /// Sends without an ack, and the remaining number that the protocol allows.
    var inFlight = 0
    var allowance = SendAllowance()
  }

  private struct Slot {
    var seq = -1
    var missing = 0
    var byteCount = 0
    var due = Instant.zero
    /// Sent by this run; the gateway's event lines are not.
    var isOwn = false
  }

  var subscribers: [Subscriber]
  private(set) var liveCount = 0
  /// Deliveries of this run's messages, messages that all subscribers have, and acknowledged ones.
  private(set) var delivered = 0
  private(set) var settled = 0
  private(set) var acked = 0
  private(set) var verified = 0
  private(set) var problems: [String] = []
  /// The last received seq of any subscriber.
  private(set) var head = 0
  private(set) var latency = latencyHistogram()
  var isMeasuring = false
  /// Connections with a ping to answer, of the protocol or a frame.
  private(set) var asked: [(index: Int, ping: [UInt8]?)] = []

  private let stamp: Stamp
  private let bodies: Bodies
  private let verifiesAll: Bool
  private var slots: [Slot]
  private var texts: [[UInt8]]
  private var parts: [Int: [UInt8]] = [:]
  private var pings: [Int: [UInt8]] = [:]
  private var uncompared = 0

  private static let sampleEvery = 64
  private static let problemsMax = 10

  init(subscribers: Int, stamp: Stamp, bodies: Bodies, pendingMax: Int, verifiesAll: Bool) {
    self.subscribers = Array(repeating: Subscriber(), count: subscribers)
    self.stamp = stamp
    self.bodies = bodies
    self.verifiesAll = verifiesAll
    var capacity = 64
    while capacity < 2 * pendingMax { capacity *= 2 }
    slots = Array(repeating: Slot(), count: capacity)
    texts = Array(repeating: [], count: capacity)
  }

  mutating func note(_ problem: String) {
    if problems.count < SessionVerifier.problemsMax { problems.append(problem) }
  }

  mutating func takeAsked() -> [(index: Int, ping: [UInt8]?)] {
    defer { asked = [] }
    return asked
  }

  // MARK: Frames

  mutating func take(_ index: Int, _ bytes: RawSpan, _ now: Instant) {
    var offset = 0
    while offset < bytes.byteCount {
      do throws(FrameFault) {
        switch try subscribers[index].walker.next(bytes, &offset) {
        case .needMoreBytes: return
        case .data(let range, let isEnd):
          let piece = bytes.extracting(range)
          if isEnd, !subscribers[index].hasPart {
            receive(index, piece, now)
          } else {
            takePart(index, piece, isEnd: isEnd, now)
          }
        case .control(let opcode, let range, let isEnd):
          takeControl(index, opcode, bytes.extracting(range), isEnd: isEnd)
        }
      } catch {
        return note("connection \(index): broken frame: \(error.reason)")
      }
    }
  }

  private mutating func takePart(_ index: Int, _ piece: RawSpan, isEnd: Bool, _ now: Instant) {
    parts[index, default: []].append(piece)
    subscribers[index].hasPart = !isEnd
    guard isEnd, let text = parts.removeValue(forKey: index) else { return }
    text.withRawSpan { receive(index, $0, now) }
  }

  private mutating func takeControl(
    _ index: Int, _ opcode: Opcode, _ piece: RawSpan, isEnd: Bool
  ) {
    pings[index, default: []].append(piece)
    guard isEnd, let payload = pings.removeValue(forKey: index) else { return }
    switch opcode {
    case .ping: asked.append((index, payload))
    case .close:
      let code = payload.count > 1 ? Int(payload[0]) << 8 | Int(payload[1]) : 1005
      note("connection \(index) was closed with \(code)")
    default: break
    }
  }

  // MARK: Texts

  @inline(__always)
  private mutating func receive(_ index: Int, _ text: RawSpan, _ now: Instant) {
    guard let seq = quickSeq(text) else { return receiveAll(index, text, now) }
    let place = seq & (slots.count &- 1)
    guard slots[place].seq == seq, slots[place].byteCount == text.byteCount else {
      return receiveAll(index, text, now)
    }
    uncompared &+= 1
    if uncompared == SessionVerifier.sampleEvery || verifiesAll {
      uncompared = 0
      verified &+= 1
      let isSame = texts[place].withRawSpan { areEqual($0, text) }
      if !isSame { note("connection \(index) got seq \(seq) with another text") }
    }
    shown(index, seq, place, now)
  }

  /// The seq of a text that is one message in the gateway's spelling.
  @inline(__always)
  private func quickSeq(_ text: RawSpan) -> Int? {
    // {"type":"message","session":"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx","seq":
    guard text.byteCount > 96, text.word(at: 8) == SessionVerifier.typeWord,
      text.word(at: 65) == SessionVerifier.seqWord
    else { return nil }
    var value = 0
    var offset = 73
    while offset < 92 {
      let digit = text.byte(at: offset) &- UInt8(ascii: "0")
      if digit > 9 { break }
      value = value &* 10 &+ Int(digit)
      offset &+= 1
    }
    return text.byte(at: offset) == UInt8(ascii: ",") && offset > 73 ? value : nil
  }

  private static let typeWord = word("\"message")
  private static let seqWord = word("\",\"seq\":")

  private static func word(_ text: String) -> UInt64 {
    Array(text.utf8).withRawSpan { $0.word(at: 0) }
  }

  /// Records the delivery of a message to one more subscriber.
  @inline(__always)
  private mutating func shown(_ index: Int, _ seq: Int, _ place: Int, _ now: Instant) {
    guard subscribers[index].next == seq else {
      return note(
        "connection \(index) got seq \(seq), but expects \(subscribers[index].next)")
    }
    subscribers[index].next = seq &+ 1
    guard slots[place].isOwn else { return }
    delivered &+= 1
    if isMeasuring { latency.record(microseconds(since: slots[place].due, now)) }
    slots[place].missing &-= 1
    if slots[place].missing == 0 { settled &+= 1 }
  }

  /// Handles the rare texts: the first copy of a message, acks, the start, and several objects in a
  /// text.
  private mutating func receiveAll(_ index: Int, _ text: RawSpan, _ now: Instant) {
    var cursor = JSONCursor()
    while cursor.skipBlanks(text) {
      let start = cursor.position
      guard let event = try? ServerEvent(text, &cursor) else {
        return note("connection \(index): not JSON: \(text.string.prefix(200))")
      }
      receive(index, event, text, start..<cursor.position, now)
    }
  }

  private mutating func receive(
    _ index: Int, _ event: ServerEvent, _ text: RawSpan, _ range: Range<Int>, _ now: Instant
  ) {
    switch event.kind {
    case .subscribed: subscribers[index].next = event.from
    case .live:
      if !subscribers[index].isLive { liveCount += 1 }
      subscribers[index].isLive = true
    case .message:
      see(index, event, text, range)
      shown(index, event.seq, event.seq & (slots.count - 1), now)
    case .ack:
      guard let id = event.id, stamp.isOwn(id), stamp.client(of: id) == index else {
        return note(
          "connection \(index) got an ack without an outstanding message: seq \(event.seq)")
      }
      acked += 1
      subscribers[index].inFlight -= 1
    case .error: note("connection \(index): \(event.code): \(event.message)")
    case .ping: asked.append((index, nil))
    case .resync, .unsubscribed, .drain:
      note("connection \(index) lost its subscription: \(event.kind)")
    case .welcome, .more, .ok, .other: break
    }
  }

  /// Handles the first copy of a seq, or a copy that differs.
  private mutating func see(
    _ index: Int, _ event: ServerEvent, _ text: RawSpan, _ range: Range<Int>
  ) {
    let place = event.seq & (slots.count - 1)
    let bytes = text.extracting(range)
    if slots[place].seq == event.seq {
      let isSame = texts[place].withRawSpan { areEqual($0, bytes) }
      if !isSame { note("connection \(index) got seq \(event.seq) with another text") }
      return
    }
    if slots[place].isOwn, slots[place].missing > 0 {
      note("seq \(slots[place].seq) did not reach \(slots[place].missing) subscribers")
    }
    var slot = Slot(seq: event.seq, byteCount: bytes.byteCount)
    if let id = event.id, stamp.isOwn(id) {
      slot.isOwn = true
      slot.missing = subscribers.count
      slot.due = stamp.due(of: id)
      let body = unescaped(event.body, in: text)
      if body.map({ bodies.isBody($0, of: id) }) != true {
        note("seq \(event.seq) differs from the sent body")
      }
    }
    slots[place] = slot
    head = max(head, event.seq)
    texts[place].removeAll(keepingCapacity: true)
    texts[place].append(bytes)
  }
}

// The surroundings of the fuzzed engine (Engine.swift): peers that decode strictly, and a store
// with three sessions.
import Chat
import Compression
import Primitives
import Wire

@testable import Engine

/// The peer of one connection.
final class Peer {
  var loop: Int
  var connection: ConnectionID
  /// It has closed its socket; the loop finds that in its next iteration.
  var hasEnded = false
  var isGone = false
  /// Bytes that its socket takes of each write.
  var readLimit = Int.max
  private let agreement: DeflateAgreement?
  private var decoder: MessageDecoder
  private var inflater: Inflater?
  private var deflater: Deflater?
  /// The next seq, by session.
  private var expected: [[UInt8]: Int64] = [:]

  init(loop: Int, connection: ConnectionID, agreement: DeflateAgreement?) {
    self.loop = loop
    self.connection = connection
    self.agreement = agreement
    decoder = MessageDecoder(
      role: .client, limits: MessageLimits(messageBytes: 1 << 24, fragments: 1),
      allowsDeflated: agreement != nil)
  }

  /// A masked frame with any first byte.
  func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    payload.withRawSpan {
      FrameEncoder.appendMaskedFrame(.binary, payload: $0, maskKey: 0, to: &bytes)
    }
    bytes[0] = first
    return bytes
  }

  /// A text message. A fragmented one has a ping between its two fragments.
  func message(_ text: [UInt8], isDeflated: Bool, isFragmented: Bool) -> [UInt8] {
    var payload = text
    if isDeflated, let agreement {
      if deflater == nil {
        deflater = Deflater(
          level: 1, windowBits: Int(agreement.clientWindowBits), memoryLevel: 1)
      }
      payload = []
      text.withRawSpan {
        deflater?.deflate($0, keepsContext: !agreement.clientForgets, to: &payload)
      }
    }
    let rsv1: UInt8 = isDeflated ? 0x40 : 0
    guard isFragmented else { return frame(0x81 | rsv1, payload) }
    let middle = payload.count / 2
    return frame(0x01 | rsv1, Array(payload[..<middle])) + frame(0x89, [1, 2])
      + frame(0x80, Array(payload[middle...]))
  }

  func receive(_ bytes: [UInt8]) {
    var bytes = bytes
    bytes.withMutableRawSpan { buffer in
      var offset = 0
      while offset < buffer.byteCount {
        guard let step = try? decoder.next(&buffer, offset: &offset) else {
          preconditionFailure("the engine violates RFC 6455")
        }
        switch step {
        case .needMoreBytes: return
        case .message(_, .inPlace(let range)): take(buffer.bytes.extracting(range))
        case .message(_, .assembled): decoder.takeAssembled().withRawSpan { take($0) }
        case .deflatedMessage(_, .inPlace(let range)): inflate(buffer.bytes.extracting(range))
        case .deflatedMessage(_, .assembled): decoder.takeAssembled().withRawSpan { inflate($0) }
        case .ping, .pong, .close: continue
        }
      }
    }
  }

  private func inflate(_ payload: RawSpan) {
    guard let agreement else { preconditionFailure("deflated without an agreement") }
    if inflater == nil { inflater = Inflater(windowBits: Int(agreement.serverWindowBits)) }
    var text: [UInt8] = []
    let keepsContext = !agreement.serverForgets
    do throws(InflateFault) {
      try inflater?.inflate(payload, keepsContext: keepsContext, limit: 1 << 24, to: &text)
    } catch {
      preconditionFailure("the engine violates RFC 7692: \(error)")
    }
    text.withRawSpan { take($0) }
  }

  /// Checks that every entry is the next one of its session.
  private func take(_ text: RawSpan) {
    guard let type = value(of: #""type":"#, in: text, count: 12), type.first == 0x22,
      let session = value(of: #""session":"#, in: text, count: 38)
    else { return }
    if type.starts(with: "\"subscribed".utf8) {
      expected[session] = number(#""from":"#, in: text)
    } else if type.starts(with: "\"message".utf8), let next = expected[session] {
      precondition(number(#""seq":"#, in: text) == next, "a missing or repeated entry")
      expected[session] = next + 1
    } else if type.starts(with: "\"resync".utf8) {
      expected[session] = nil
    }
  }

  private func value(of key: StaticString, in text: RawSpan, count: Int) -> [UInt8]? {
    let length = key.utf8CodeUnitCount
    guard text.byteCount >= length + count else { return nil }
    // Both keys are near the start of every event.
    for offset in 0...min(text.byteCount - length - count, 400)
    where text.extracting(offset..<offset + length).equals(key) {
      var copy: [UInt8] = []
      copy.append(text.extracting(offset + length..<offset + length + count))
      return copy
    }
    return nil
  }

  private func number(_ key: StaticString, in text: RawSpan) -> Int64 {
    guard let digits = value(of: key, in: text, count: 2) else { return -1 }
    var offset = 0
    while !text.extracting(offset..<offset + key.utf8CodeUnitCount).equals(key) { offset += 1 }
    offset += key.utf8CodeUnitCount
    precondition(digits.first.map { (0x30...0x39).contains($0) } ?? false, "not a number")
    var number: Int64 = 0
    while offset < text.byteCount, (0x30...0x39).contains(text.byte(at: offset)) {
      number = number * 10 + Int64(text.byte(at: offset) - 0x30)
      offset += 1
    }
    return number
  }
}

/// A database with three sessions.
struct Store {
  private var entries: [[Entry]] = [[], [], []]
  private var epochs = [0, 0, 0]
  private var ids: UInt64 = 0
  var isUp = true

  private static let workspace = Identifier(high: 2, low: 2)
  private static let visitors = (0..<3).map {
    Person(role: .visitor, id: Identifier(high: 3, low: UInt64($0)), name: Array("Ada".utf8))
  }
  private static let clerk = Person(
    role: .operator_, id: Identifier(high: 4, low: 4), name: Array("Mika".utf8))

  func id(_ number: Int) -> Identifier { Identifier(high: 5, low: UInt64(number % 3) + 1) }

  private func index(_ id: Identifier) -> Int? {
    id.high == 5 && (1...3).contains(id.low) ? Int(id.low) - 1 : nil
  }

  mutating func append(_ number: Int, body: String, _ wall: WallTime) {
    ids += 1
    add(
      number % 3, Identifier(high: 8, low: ids), Store.visitors[number % 3], .text,
      Array(body.utf8), wall)
  }

  private mutating func add(
    _ index: Int, _ id: Identifier, _ sender: Person, _ kind: EntryKind, _ body: [UInt8],
    _ wall: WallTime
  ) {
    entries[index].append(
      Entry(
        seq: Int64(entries[index].count) + 1, id: id, role: sender.role, kind: kind,
        sender: sender.id, senderName: sender.name, body: body, payload: [], at: wall))
  }

  /// The log goes back and gets another epoch, as after a restore.
  mutating func restore(_ number: Int) {
    entries[number % 3].removeLast(min(3, entries[number % 3].count))
    epochs[number % 3] += 1
  }

  func member(of token: [UInt8], _ wall: WallTime) -> Result<Member, TokenRefusal> {
    let end = WallTime(microseconds: wall.microseconds + 100_000_000)
    switch String(decoding: token, as: UTF8.self) {
    case "v0", "v1":
      let number = token == Array("v0".utf8) ? 0 : 1
      return .success(
        Member(
          person: Store.visitors[number], workspace: Store.workspace, sessions: [id(number)],
          expiresAt: end))
    case "op":
      return .success(
        Member(person: Store.clerk, workspace: Store.workspace, sessions: [], expiresAt: end))
    case "old": return .failure(.expired)
    default: return .failure(.invalid)
    }
  }

  func answer(_ read: ReadRequest, _ engine: inout Engine) {
    switch read {
    case .session(let id):
      guard isUp else {
        engine.sessionLoaded(id, .failure(.unavailable))
        return
      }
      engine.sessionLoaded(
        id, index(id).map { .success(snapshot($0)) } ?? .failure(.noSuchSession))
    case .entries(let id, let after, let limit, _):
      let found = index(id).map { entries[$0].filter { $0.seq > after } } ?? []
      let page = LogPage(entries: Array(found.prefix(limit)), isFull: found.count >= limit)
      engine.entriesLoaded(read, isUp ? page : nil)
    case .entriesBefore(let id, let before, let limit, _):
      let found = index(id).map { entries[$0].filter { $0.seq < before } } ?? []
      let page = LogPage(entries: Array(found.suffix(limit)), isFull: found.count >= limit)
      engine.entriesLoaded(read, isUp ? page : nil)
    case .conversation(let session, let workspace):
      engine.conversationLoaded(
        session, workspace, isUp ? .success(Array("{}".utf8)) : .failure(.unavailable))
    case .storeMark, .storeAvailability: engine.stored(read, isStored: isUp)
    }
  }

  private func snapshot(_ index: Int) -> SessionSnapshot {
    SessionSnapshot(
      id: id(index), workspace: Store.workspace, visitor: Store.visitors[index],
      epoch: Array("e\(epochs[index])".utf8), head: Int64(entries[index].count),
      status: .waiting, assignee: nil, title: [], marks: [])
  }

  /// The outcome of one record, or a failure chosen by the input.
  mutating func commit(
    _ batch: borrowing Batch, _ position: Int, _ choice: Int, _ wall: WallTime
  ) -> Outcome {
    let record = batch.record(position)
    guard isUp, choice % 5 != 1 else { return Outcome(verdict: .unavailable) }
    for known in entries.joined() where known.id == record.id {
      let body = batch.withBody(position) { $0.string }
      let isSame = body == String(decoding: known.body, as: UTF8.self)
      return Outcome(verdict: isSame ? .duplicate : .conflict, seq: known.seq, at: known.at)
    }
    guard choice % 5 != 2 else { return Outcome(verdict: .rejected) }
    guard let index = index(record.session) else { return Outcome(verdict: .noSuchSession) }
    add(
      index, record.id, record.role == .visitor ? Store.visitors[index] : Store.clerk, record.kind,
      Array(batch.withBody(position) { $0.string }.utf8), wall)
    // Committed, but the response is lost.
    guard choice % 5 != 3 else { return Outcome(verdict: .unavailable) }
    return Outcome(verdict: .stored, seq: Int64(entries[index].count), at: wall)
  }
}

import Chat
import Engine
import Primitives
import Testing
import Wire

/// permessage-deflate in the engine: the texts that it compresses, the copies that subscribers
/// share, and the limits of a peer.
@Suite struct DeflateTests {
  private static let long = String(
    repeating: "where is my parcel, and when will it come? ", count: 30)
  private static let plain = DeflateAgreement()
  private static let keeping = DeflateAgreement(
    serverForgets: false, clientForgets: false, serverWindowBits: 12, clientWindowBits: 12)

  private static func faults(_ world: World) -> [String: UInt64] {
    var counts: [String: UInt64] = [:]
    for loop in world.loops {
      for (key, count) in loop.engine.counters.faults.counts {
        counts["\(key.stage): \(key.reason)", default: 0] += count
      }
    }
    return counts
  }

  @Test("compressed messages work, whole and fragmented", arguments: [plain, keeping])
  func conversation(agreement: DeflateAgreement) {
    let world = World(loops: 2)
    let session = world.makeSession(entries: 1, ownedBy: 1)
    let client = world.connect(loop: 0, deflate: agreement)
    client.sendDeflated(
      #"{"type":"hello","token":"visitor","subscribe":[{"session":"\#(session)"}]}"#)
    world.settle()
    #expect(client.loop == 1, "the connection moved with its contexts")
    #expect(client.types() == ["welcome", "subscribed", "message", "live"])
    #expect(client.deflatedCounts.isEmpty, "secrets and short texts are not compressed")
    for (number, isCut) in [false, true, true, false].enumerated() {
      client.sendDeflated(
        #"{"type":"send","session":"\#(session)","id":"\#(world.makeID())","#
          + #""body":"\#(Self.long)"}"#,
        isCut: isCut)
      world.commit()
      let texts = client.texts()
      #expect(texts.map { field("type", of: $0) } == ["ack", "message"])
      #expect(field("body", of: texts[1]) == Self.long)
      #expect(client.deflatedCounts.count == number + 1)
    }
    if !agreement.serverForgets {
      #expect(
        client.deflatedCounts[3] < client.deflatedCounts[0] / 2, "it refers to the earlier messages"
      )
    }
    #expect(Self.faults(world).isEmpty)
  }

  @Test("subscribers share one deflated copy, made for the first one with compression")
  func sharedCopy() {
    let world = World()
    let session = world.makeSession()
    let writer = world.member("visitor", session)
    writer.post(Self.long, to: session)
    world.commit()
    #expect(world.loops[0].engine.counters.deflated == 0, "no subscriber has compression yet")
    let readers = (0..<5).map { _ in world.member("operator", session, deflate: Self.plain) }
    for reader in readers { #expect(reader.types().last == "live") }
    #expect(world.loops[0].engine.counters.deflated == 1)
    writer.post(Self.long, to: session)
    writer.post("short", to: session)
    world.commit()
    for reader in readers {
      #expect(reader.texts().map { field("body", of: $0) } == [Self.long, "short"])
      #expect(reader.deflatedCounts.count == 2)
    }
    #expect(world.loops[0].engine.counters.deflated == 2)
    #expect(writer.types().count(where: { $0 == "message" }) == 3)
    #expect(writer.deflatedCounts.isEmpty)
  }

  @Test("inflated bytes count against the rate, and too many close with 4103")
  func inflatedRate() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session, deflate: Self.plain)
    _ = ada.receive()
    let filler = String(repeating: "a", count: 60_000)
    let text = #"{"type":"typing","session":"\#(session)","text":"\#(filler)"}"#
    let charge = text.utf8.count / Limits.inflatedBytesOfCommand
    // The burst, the same as debt, and the commands allowed over the rate.
    let most = (2 * Limits.commandsBurst + Limits.overRate) / charge + 1
    var count = 0
    while count < 10 * most {
      ada.sendDeflated(text)
      count += 1
      if ada.receive().last == .close(4103) { break }
    }
    #expect(count > Limits.commandsBurst / (charge + 1), "the burst is allowed")
    #expect(count <= most)
  }

  @Test("the longest texts at the rate of sends never exceed it, compressed or not")
  func longTextsAtTheirRate() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session, deflate: Self.plain)
    _ = ada.receive()
    let text = String(repeating: "where is it? ", count: 1_250)
    for _ in 0..<200 {
      ada.sendDeflated(
        #"{"type":"send","session":"\#(session)","id":"\#(world.makeID())","body":"\#(text)"}"#)
      world.commit()
      #expect(!ada.types().contains("error"))
      world.advance(milliseconds: Int64(1_000 / Limits.sendsPerSecond))
    }
  }

  @Test("the log drops deflated entries with the others", arguments: [plain, keeping])
  func trimming(agreement: DeflateAgreement) {
    let world = World()
    let session = world.makeSession()
    let writer = world.member("visitor", session, deflate: agreement)
    let reader = world.member("operator", session, deflate: agreement)
    _ = (writer.receive(), reader.receive())
    for number in 0..<600 {
      writer.post(number % 3 == 0 ? "\(number)" : "\(number) \(Self.long)", to: session)
      world.advance(milliseconds: 60)
      world.commit()
      // The reader receives rarely; once its position is no longer in memory.
      let bodies = writer.texts().map { field("body", of: $0) }
      #expect(bodies.contains { $0 == "\(number)" || $0.hasPrefix("\(number) ") })
      guard number % 50 == 49 || number == 599 else { continue }
      reader.send(#"{"type":"pong"}"#)
      let late = reader.texts().filter { field("type", of: $0) == "message" }
      #expect(late.count == 50)
      #expect(field("seq", of: late.last ?? "") == "\(number + 1)")
    }
  }

  @Test("a smaller window of the client is observed, also by long messages", arguments: [9, 12])
  func windows(bits: UInt8) {
    let world = World()
    let session = world.makeSession()
    var narrow = DeflateAgreement()
    narrow.serverWindowBits = bits
    let client = world.member("visitor", session, deflate: narrow)
    _ = client.receive()
    // Distant repetitions, within a window of 15 bits.
    let body = String(repeating: (0..<600).map { "\($0 * 7919)" }.joined(), count: 3)
    client.post(body, to: session)
    world.commit()
    #expect(client.texts().contains { field("body", of: $0) == body })
    #expect(client.deflatedCounts.count == 1)
  }

  @Test("secrets and responses are never compressed, nor notes with a visitor's texts (faults D14)")
  func secrets() {
    let world = World()
    let session = world.makeSession(entries: 30)
    let clerk = world.member("operator", deflate: Self.plain)
    clerk.send(#"{"type":"watch","inbox":true}"#)
    clerk.send(#"{"type":"subscribe","session":"\#(session)"}"#)
    world.settle()
    clerk.post("a " + Self.long, to: session, kind: "note")
    world.commit()
    world.advance(milliseconds: 500)
    world.settle()
    let kinds = clerk.types()
    #expect(Set(kinds).isSuperset(of: ["welcome", "ok", "subscribed", "ack", "inbox"]))
    #expect(clerk.deflatedCounts.count == 1, "only the note is compressed")
    clerk.send(#"{"type":"history","ref":1,"session":"\#(session)"}"#)
    world.settle()
    #expect(clerk.types() == ["ok"])
    #expect(clerk.deflatedCounts.count == 1, "the page holds a note")
    clerk.send(#"{"type":"history","ref":1,"session":"\#(session)","before":31}"#)
    world.settle()
    #expect(clerk.types() == ["ok"])
    #expect(clerk.deflatedCounts.count == 2, "the page before the note")
  }

  @Test("an operator's texts share no context, even if one was negotiated (faults D14)")
  func operators() {
    let world = World()
    let session = world.makeSession()
    let clerk = world.member("operator", session, deflate: Self.keeping)
    let visitor = world.member("visitor", session, deflate: Self.keeping)
    for _ in 0..<3 {
      visitor.post(Self.long, to: session)
      world.commit()
      #expect(clerk.texts().contains { field("body", of: $0) == Self.long })
      #expect(visitor.texts().contains { field("body", of: $0) == Self.long })
    }
    #expect(clerk.deflatedCounts.max() ?? 0 < (clerk.deflatedCounts.min() ?? 0) + 8)
    #expect(visitor.deflatedCounts[2] < visitor.deflatedCounts[0] / 2)
  }

  @Test("the echo answers deflated messages deflated, and others uncompressed")
  func echo() {
    for agreement in [Self.plain, Self.keeping] {
      let world = World()
      let client = world.connect(isEcho: true, deflate: agreement)
      for text in ["", "x", Self.long, Self.long] {
        client.sendDeflated(text, isCut: text.count > 9)
        #expect(client.receive() == [.text(text)])
      }
      #expect(client.deflatedCounts.count == 4)
      client.sendDeflated(Self.long, opcode: .binary)
      client.send("as it is")
      #expect(client.receive() == [.binary(Self.long.utf8.count), .text("as it is")])
      #expect(client.deflatedCounts.count == 5)
    }
  }

  @Test(
    "invalid deflated data end the connection (faults D05, D07)",
    arguments: [
      ([0x06, 0x00], 1007, "deflate: deflate block of a reserved type"),
      ([0xF2, 0x00, 0x11, 0x00, 0x00], 1007, "deflate: deflate distance too far back"),
      ([0xF2, 0x48], 1007, "deflate: deflated data cut short"),
      ([], 1007, "deflate: deflated data cut short"),
      ([0x00, 0x05, 0x00, 0x00, 0x00, 0x48], 1007, "deflate: deflated data corrupt"),
      // A stored block with the byte FF, which is not UTF-8.
      ([0x00, 0x01, 0x00, 0xFE, 0xFF, 0xFF, 0x00], 1007, "deflate: inflated text is not UTF-8"),
    ] as [([UInt8], UInt16, String)])
  func faults(payload: [UInt8], code: UInt16, reason: String) {
    let world = World()
    let client = world.connect(isEcho: true, deflate: Self.plain)
    client.sendDeflated(payload)
    client.sendDeflated("this is ignored")
    client.send([0x88, 0x80, 0, 0, 0, 0])
    #expect(client.receive() == [.close(code)])
    #expect(Self.faults(world) == [reason: 1])
    let other = world.connect(isEcho: true, deflate: Self.plain)
    other.sendDeflated("still here")
    #expect(other.receive() == [.text("still here")])
  }

  @Test(
    "a message at the limit is accepted, one byte more closes with 1009, before and after hello")
  func limits() {
    let world = World()
    let session = world.makeSession()
    func hello(_ count: Int) -> String {
      let start = #"{"type":"hello","token":"visitor","filler":""#
      return start + String(repeating: "x", count: count - start.utf8.count - 2) + "\"}"
    }
    let exact = world.connect(deflate: Self.plain)
    exact.sendDeflated(hello(Limits.helloBytes))
    world.settle()
    #expect(exact.types() == ["welcome"])
    let over = world.connect(deflate: Self.plain)
    over.sendDeflated(hello(Limits.helloBytes + 1))
    #expect(over.receive() == [.close(1009)])

    func filled(_ count: Int) -> String {
      let start = #"{"type":"read","ref":"r","session":"\#(session)","seq":1,"filler":""#
      return start + String(repeating: "x", count: count - start.utf8.count - 2) + "\"}"
    }
    exact.sendDeflated(filled(Limits.messageBytes))
    #expect(
      exact.types() == ["error"], "the message is decoded, then refused without a subscription")
    exact.sendDeflated(filled(Limits.messageBytes + 1))
    #expect(exact.receive() == [.close(1009)])
    #expect(Self.faults(world) == ["deflate: inflated message too big": 2])
  }

  @Test("a text at the limit that deflating makes longer is accepted")
  func incompressible() {
    let world = World()
    let client = world.connect(isEcho: true, deflate: Self.plain)
    var random = UInt64(3)
    let text = String(
      (0..<Limits.messageBytes).map { _ in
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Character(UnicodeScalar(UInt8(32 + random >> 33 % 95)))
      })
    client.sendDeflated(text, isCut: true)
    #expect(client.receive() == [.text(text)])
  }

  @Test("a bomb before hello, whole or fragmented, inflates to the limit at most (faults D08-D10)")
  func bomb() {
    let world = World()
    let zeros = String(repeating: "\0", count: 4 << 20)
    for isCut in [false, true] {
      let client = world.connect(deflate: Self.plain)
      client.sendDeflated(zeros, isCut: isCut)
      #expect(client.receive() == [.close(1009)])
    }
    #expect(Self.faults(world) == ["deflate: inflated message too big": 2])
  }
}

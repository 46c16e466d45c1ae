// Fuzz target: two loops with their engines. The input determines everything around them: the
// messages of several peers, whole or fragmented, deflated or not; how fast they read; the store's
// responses; and the passing of time.
//
// Nothing may trap, a strict client with the negotiated windows must be able to decode all output,
// no subscriber may miss an entry or receive one twice, and at the end nothing may be left in
// memory.
import Chat
import Compression
import Primitives
import Wire

@testable import Engine

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let world = World()
  var script = Script(bytes: input)
  while !script.isAtEnd {
    world.act(&script)
    world.iterate()
  }
  world.end()
  return 0
}

/// The input as a stream of choices, with zeros after its end.
struct Script {
  let bytes: [UInt8]
  var offset = 0

  var isAtEnd: Bool { offset >= bytes.count }

  mutating func next() -> Int {
    guard !isAtEnd else { return 0 }
    defer { offset += 1 }
    return Int(bytes[offset])
  }

  mutating func take(_ count: Int) -> [UInt8] {
    let end = min(offset + count, bytes.count)
    defer { offset = end }
    return Array(bytes[min(offset, end)..<end])
  }
}

final class World {
  final class Loop {
    var engine: Engine
    init(_ engine: consuming Engine) { self.engine = engine }
  }

  var loops: [Loop] = []
  var peers: [Peer] = []
  var store = Store()
  var now = Instant(nanoseconds: 1_000_000_000)
  var wall = WallTime(microseconds: 1_795_000_000_000_000)
  private var names: UInt64 = 0

  init() {
    for index in 0..<2 {
      loops.append(
        Loop(
          Engine(
            loop: index, loopCount: 2,
            configuration: Engine.Configuration(
              connectionsMax: 8, sessionsMax: 8, node: "fuzz",
              compression: CompressionOptions(level: 1, memoryLevel: 1, thresholdBytes: 64)),
            now: now, wall: wall)))
    }
  }

  // MARK: Actions

  func act(_ script: inout Script) {
    let action = script.next()
    switch action % 12 {
    case 0: connect(script.next())
    case 1:
      guard let peer = peer(script.next()) else { return }
      send(peer, script.take(script.next()))
    case 2:
      guard let peer = peer(script.next()) else { return }
      let first = UInt8(script.next())
      let payload = script.take(script.next())
      send(peer, peer.frame(first, payload))
    case 3, 4, 5:
      guard let peer = peer(script.next()) else { return }
      let form = script.next()
      let text = command(action % 12 == 3 ? 0 : script.next(), &script)
      send(peer, peer.message(text, isDeflated: form & 1 != 0, isFragmented: form & 2 != 0))
    case 6: commit(script.next())
    case 7: advance(Int64(script.next()) * 200)
    case 8: peer(script.next())?.readLimit = [0, 1, 7, 100, 4_096, .max][script.next() % 6]
    case 9:
      guard let peer = peer(script.next()) else { return }
      if action & 0x10 == 0 {
        loops[peer.loop].engine.connections.writable(
          peer.connection.index, now: loops[peer.loop].engine.now)
      } else {
        peer.hasEnded = true
      }
    case 10: changeStore(script.next())
    default:
      switch script.next() % 16 {
      case 0: loops[action & 1].engine.connections.announceDrain(windowMilliseconds: 1_000)
      case 1: loops[action & 1].engine.closeAll()
      default: return
      }
    }
  }

  private func peer(_ number: Int) -> Peer? {
    let alive = peers.filter { !$0.isGone }
    return alive.isEmpty ? nil : alive[number % alive.count]
  }

  private func connect(_ choice: Int) {
    let agreement: DeflateAgreement? =
      switch choice >> 2 & 3 {
      case 0: nil
      case 1: DeflateAgreement()
      case 2: DeflateAgreement(serverWindowBits: 9)
      default:
        DeflateAgreement(
          serverForgets: false, clientForgets: false, serverWindowBits: 10, clientWindowBits: 9)
      }
    names += 1
    let loop = choice & 1
    guard
      let connection = loops[loop].engine.connections.accept(
        name: Identifier(high: 1, low: names), isEcho: choice & 2 != 0, deflate: agreement,
        now: loops[loop].engine.now)
    else { return }
    peers.append(Peer(loop: loop, connection: connection, agreement: agreement))
  }

  /// A command of a client, or bytes of the input.
  private func command(_ choice: Int, _ script: inout Script) -> [UInt8] {
    let session = store.id(script.next())
    let more = script.next()
    let text: String
    switch choice % 12 {
    case 0:
      let token = ["v0", "v1", "op", "old", "no"][more % 5]
      text =
        #"{"type":"hello","ref":1,"token":"\#(token)","subscribe":[{"session":"\#(session)","#
        + #""after":\#(more / 5)}]}"#
    case 1: text = #"{"type":"subscribe","session":"\#(session)","after":\#(more % 8)}"#
    case 2: text = #"{"type":"subscribe","session":"\#(session)","tail":\#(more),"epoch":"e0"}"#
    case 3, 4, 5:
      let id = Identifier(high: 7, low: UInt64(more))
      let body = String(repeating: "parcel \(more) ", count: 1 << (more & 7))
      let kind = more % 5 == 0 ? #","kind":"note""# : ""
      text =
        #"{"type":"send","ref":2,"session":"\#(session)","id":"\#(id)","body":"\#(body)"\#(kind)}"#
    case 6: text = #"{"type":"history","ref":3,"session":"\#(session)","before":\#(more)}"#
    case 7: text = #"{"type":"read","session":"\#(session)","seq":\#(more)}"#
    case 8:
      text = #"{"type":"typing","session":"\#(session)","active":true,"preview":"p\#(more)"}"#
    case 9: text = #"{"type":"watch","inbox":\#(more & 1 == 0)}"#
    case 10: text = #"{"type":"unsubscribe","session":"\#(session)"}"#
    default: return script.take(more)
    }
    return Array(text.utf8)
  }

  /// Like the driver, does not read a paused connection.
  private func send(_ peer: Peer, _ bytes: [UInt8]) {
    guard !loops[peer.loop].engine.connections.isPaused(peer.connection.index) else { return }
    var bytes = bytes
    bytes.withMutableRawSpan { loops[peer.loop].engine.receive(peer.connection.index, &$0) }
  }

  private func changeStore(_ choice: Int) {
    switch choice % 4 {
    case 0: store.isUp.toggle()
    case 1: store.restore(choice >> 2)
    default: store.append(choice >> 2, body: String(repeating: "x", count: choice), wall)
    }
    loops[choice & 1].engine.changed(store.id(choice >> 2))
  }

  func advance(_ milliseconds: Int64) {
    now = now.advanced(byMilliseconds: milliseconds)
    wall = WallTime(microseconds: wall.microseconds + milliseconds * 1000)
    for loop in loops {
      loop.engine.now = now
      loop.engine.wall = wall
      loop.engine.sweep()
      loop.engine.readInbox()
      checkQueues(loop)
    }
  }

  func commit(_ choice: Int) {
    for loop in loops {
      while loop.engine.hasBatch {
        var taken = Batch()
        loop.engine.submitBatch { swap(&taken, &$0) }
        let outcomes = (0..<taken.count).map { store.commit(taken, $0, choice, wall) }
        loop.engine.committed(taken, outcomes)
      }
    }
  }

  // MARK: One iteration of every loop, in the driver's order

  func iterate() {
    for index in loops.indices {
      let loop = loops[index]
      loop.engine.isStoreReachable = store.isUp
      for verification in loop.engine.effects.takeVerifications() {
        loop.engine.verified(verification.connection, store.member(of: verification.token, wall))
      }
      move(index)
      while let read = loop.engine.effects.nextRead() { store.answer(read, &loop.engine) }
      loop.engine.settleSessions()
      for target in loops.indices where target != index {
        for mail in loop.engine.effects.takeMail(for: target) { loops[target].engine.deliver(mail) }
      }
      _ = loop.engine.connections.takePauseChanges()
      flush(index)
      for connection in loop.engine.connections.takeDoomed() { release(index, connection) }
      for peer in peers where peer.hasEnded && !peer.isGone && peer.loop == index {
        loop.engine.connections.peerEnded(peer.connection.index)
        release(index, peer.connection.index)
        _ = loop.engine.connections.takeDoomed()
      }
      check(loop)
    }
  }

  private func move(_ index: Int) {
    for (connection, target) in loops[index].engine.effects.takeDepartures() {
      guard let departure = loops[index].engine.connections.depart(connection) else { continue }
      let mover = peers.first { !$0.isGone && $0.loop == index && $0.connection == connection }
      guard
        let arrived = loops[target].engine.connections.adopt(
          departure, now: loops[target].engine.now)
      else {
        mover?.isGone = true
        continue
      }
      mover?.loop = target
      mover?.connection = arrived
      loops[target].engine.settle(arrived)
    }
  }

  private func flush(_ index: Int) {
    var dirty: [ConnectionIndex] = []
    loops[index].engine.connections.takeDirty(into: &dirty)
    for connection in dirty {
      guard
        let peer = peers.first(where: {
          !$0.isGone && $0.loop == index && $0.connection.index == connection
        })
      else { continue }
      var output: [UInt8] = []
      loops[index].engine.collect(connection, into: &output)
      let count = min(peer.readLimit, output.count)
      peer.receive(Array(output[..<count]))
      if count == output.count {
        loops[index].engine.connections.flushed(connection, now: loops[index].engine.now)
      } else {
        loops[index].engine.connections.blocked(
          connection, rest: output[count...], now: loops[index].engine.now)
      }
    }
  }

  private func release(_ index: Int, _ connection: ConnectionIndex) {
    _ = loops[index].engine.release(connection)
    for peer in peers where peer.loop == index && peer.connection.index == connection {
      peer.isGone = true
    }
  }

  // MARK: Invariants

  /// After a sweep, no open connection has more waiting output than the limit.
  private func checkQueues(_ loop: Loop) {
    for connection in loop.engine.connections.indices
    where loop.engine.connections.isOccupied(connection) {
      guard loop.engine.connections[connection].phase == .open,
        loop.engine.connections[connection].purpose == .chat
      else { continue }
      precondition(
        loop.engine.connections[connection].outbox.count <= Limits.outputHardBytes,
        "too much waiting output")
    }
  }

  private func check(_ loop: Loop) {
    for connection in loop.engine.connections.indices
    where loop.engine.connections.isOccupied(connection) {
      let subscriptions = loop.engine.connections[connection].subscriptions
      precondition(subscriptions.count <= Limits.subscriptions, "too many subscriptions")
      precondition(
        (0...Limits.inFlight).contains(Int(loop.engine.connections[connection].sends.inFlight)),
        "sends in flight")
      precondition(loop.engine.connections[connection].held.count <= 65_536, "too much held input")
      precondition(
        loop.engine.connections[connection].hello.count <= Limits.helloBytes,
        "a hello beyond the limit")
      for index in subscriptions.indices {
        let subscription = subscriptions[index]
        let subscriber = loop.engine.sessions[subscription.session].subscribers[
          subscription.subscriber]
        precondition(
          subscriber.connection == connection && subscriber.subscription == index,
          "inconsistent lists")
      }
    }
    for index in loop.engine.sessions.indices where loop.engine.sessions.isOccupied(index) {
      precondition(
        loop.engine.sessions[index].log.last == loop.engine.sessions[index].head
          || loop.engine.sessions[index].phase == .loading, "a log that does not end at the head")
      precondition(
        loop.engine.sessions[index].waiting.count <= 16, "too many waiting subscribes")
    }
    precondition(loop.engine.queuedRecords <= Limits.queuedRecords, "too many records")
  }

  /// All peers leave. After a while nothing may be left.
  func end() {
    store.isUp = true
    commit(0)
    iterate()
    for peer in peers { peer.hasEnded = true }
    for _ in 0..<6 {
      for _ in 0..<4 { iterate() }
      commit(0)
      advance(31_000)
    }
    for _ in 0..<4 { iterate() }
    for loop in loops {
      precondition(loop.engine.connections.count == 0, "a connection is left")
      precondition(loop.engine.sessions.count == 0, "a session is left")
      precondition(!loop.engine.hasBatch && loop.engine.queuedRecords == 0, "a record is left")
      precondition(loop.engine.inbox.isEmpty, "a watcher is left")
    }
  }
}

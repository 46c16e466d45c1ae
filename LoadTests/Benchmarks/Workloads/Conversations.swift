import Chat
import Engine
import Primitives
import Wire

/// The path of messages through the engine, without sockets and database.
extension Work {
  static let conversations = [
    Work("engine-echo-20", "20 bytes received and sent back, 16 in the buffer", step: 16) {
      Echoing(byteCount: 20)
    },
    Work("engine-echo-512", "512 bytes received and sent back, 16 in the buffer", step: 16) {
      Echoing(byteCount: 512)
    },
    Work("engine-chat", "a `send` received and committed, an `ack` and two messages sent") {
      Conversing(subscribers: 2, pending: 1)
    },
    Work("engine-fan-out", "a committed message to each of 100 subscribers, 8 at once", step: 8) {
      Conversing(subscribers: 100, pending: 8)
    },
  ]
}

/// An engine, driven like by a loop but without sockets.
struct Driver: ~Copyable {
  var engine = Engine(
    loop: 0, loopCount: 1,
    configuration: Engine.Configuration(connectionsMax: 1_000, sessionsMax: 1_000, node: "bench"),
    now: Instant(nanoseconds: 1_000_000_000),
    wall: WallTime(microseconds: 1_795_000_000_000_000))
  private var output: [UInt8] = []
  private var dirty: [ConnectionIndex] = []
  private var lastID: UInt64 = 0

  mutating func accept(isEcho: Bool) -> ConnectionIndex {
    lastID += 1
    let name = Identifier(high: 9, low: lastID)
    guard let id = engine.connections.accept(name: name, isEcho: isEcho, now: engine.now) else {
      preconditionFailure("the workload's engine has room")
    }
    return id.index
  }

  /// Collects the output of all dirty connections. Returns the number of bytes.
  mutating func flush() -> Int {
    var written = 0
    engine.settleSessions()
    engine.connections.takeDirty(into: &dirty)
    for connection in dirty {
      output.removeAll(keepingCapacity: true)
      engine.collect(connection, into: &output)
      written += output.count
      engine.connections.flushed(connection, now: engine.now)
    }
    return written
  }

  mutating func send(_ connection: ConnectionIndex, _ text: String) {
    var bytes = Driver.frame(text)
    bytes.withMutableRawSpan { engine.receive(connection, &$0) }
  }

  static func frame(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    Array(text.utf8).withRawSpan {
      FrameEncoder.appendMaskedFrame(.text, payload: $0, maskKey: 0x0102_0304, to: &bytes)
    }
    return bytes
  }
}

struct Echoing: Workload, ~Copyable {
  private var driver = Driver()
  private var buffer: [UInt8] = []
  private let connection: ConnectionIndex
  private let answerBytes: Int

  init(byteCount: Int) {
    connection = driver.accept(isEcho: true)
    answerBytes = 16 * (FrameEncoder.headerByteCount(payloadByteCount: byteCount) + byteCount)
    let payload = [UInt8](repeating: 7, count: byteCount)
    for _ in 0..<16 {
      payload.withRawSpan {
        FrameEncoder.appendMaskedFrame(.binary, payload: $0, maskKey: 0x0102_0304, to: &buffer)
      }
    }
  }

  mutating func run(_ count: Int) {
    for _ in 0..<count / 16 {
      buffer.withMutableRawSpan { driver.engine.receive(connection, &$0) }
      let written = driver.flush()
      precondition(written == answerBytes, "an echo of the wrong size")
    }
  }
}

/// One session whose subscribers send in turn. Each message is committed at once.
struct Conversing: Workload, ~Copyable {
  private var driver = Driver()
  private var connections: [ConnectionIndex] = []
  private var command: [UInt8]
  private var batch = Batch()
  private var outcomes: [Outcome] = []
  private var seq: Int64 = 0
  private var turn = 0
  private let pending: Int

  init(subscribers: Int, pending: Int) {
    self.pending = pending
    command = Driver.frame(sendCommand(sampleSession, sampleSession))
    let workspace = Identifier(high: 1, low: 1)
    let snapshot = SessionSnapshot(
      id: sampleSession, workspace: workspace, visitor: nil, epoch: Array("e".utf8), head: 0,
      status: .active, assignee: nil, title: [], marks: [])
    for number in 0..<subscribers {
      let connection = driver.accept(isEcho: false)
      connections.append(connection)
      driver.send(
        connection, #"{"type":"hello","token":"t","subscribe":[{"session":"\#(sampleSession)"}]}"#)
      for verification in driver.engine.effects.takeVerifications() {
        let person = Person(
          role: .operator_, id: Identifier(high: 2, low: UInt64(number)),
          name: Array("Ada Lovelace".utf8))
        driver.engine.verified(
          verification.connection,
          .success(
            Member(
              person: person, workspace: workspace, sessions: [],
              expiresAt: WallTime(microseconds: .max))))
      }
      while driver.engine.effects.nextRead() != nil {
        driver.engine.sessionLoaded(sampleSession, .success(snapshot))
      }
      _ = driver.flush()
    }
  }

  /// Changes the last digit of the id in the masked payload, so that it differs between messages.
  private mutating func makeNewID() {
    turn &+= 1
    let place = command.count - 1 - sampleBody.utf8.count - #"","body":""#.utf8.count - 2
    command[place] ^= UInt8(truncatingIfNeeded: turn & 7)
  }

  mutating func run(_ count: Int) {
    for _ in 0..<count / pending {
      for _ in 0..<pending { send() }
      commit()
      let written = driver.flush()
      precondition(
        written > pending * connections.count * sampleBody.utf8.count, "a subscriber got no message"
      )
    }
  }

  private mutating func send() {
    let connection = connections[turn % connections.count]
    makeNewID()
    // Stays within the rate limit.
    driver.engine.now = driver.engine.now.advanced(byMilliseconds: 50)
    // The engine unmasks in place, so it receives a copy.
    received.removeAll(keepingCapacity: true)
    received.append(contentsOf: command)
    received.withMutableRawSpan { driver.engine.receive(connection, &$0) }
  }
  private var received: [UInt8] = []

  /// Commits all batches in place of PostgreSQL.
  private mutating func commit() {
    while driver.engine.hasBatch {
      driver.engine.submitBatch { swap(&batch, &$0) }
      outcomes.removeAll(keepingCapacity: true)
      for _ in 0..<batch.count {
        seq += 1
        outcomes.append(Outcome(verdict: .stored, seq: seq, at: driver.engine.wall))
      }
      driver.engine.committed(batch, outcomes)
      batch.removeAll()
    }
  }
}

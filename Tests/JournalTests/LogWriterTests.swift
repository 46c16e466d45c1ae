import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// A connection that plays back the events of a test.
private final class Script {
  var events: [AppendEvent] = []
  var sent = 0
  var probes = 0
}

private struct ScriptedConnection: ~Copyable, AppendConnection {
  let script: Script
  var descriptor: Int32 { 1 }
  var wantsWrite: Bool { false }
  var outcomes: [Outcome] { [Outcome(verdict: .stored, seq: 1)] }
  mutating func append(_ batch: borrowing Batch, _ rows: [Int], isFenced: Bool) -> Bool {
    script.sent += 1
    return true
  }
  mutating func probe(spilling: Bool) -> Bool {
    script.probes += 1
    return true
  }
  mutating func exchange() {}
  mutating func next() -> AppendEvent? {
    script.events.isEmpty ? nil : script.events.removeFirst()
  }
}

@Suite struct LogWriterTests {
  private let script = Script()

  private func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: 1_000_000_000).advanced(byMilliseconds: milliseconds)
  }

  private func submit(_ writer: inout LogWriter<ScriptedConnection>, _ milliseconds: Int64) {
    var batch = Batch()
    batch.add(Identifier(high: 1, low: 1), "hello")
    writer.submit(&batch, now: at(milliseconds))
  }

  /// Found by the simulator: no probe tried the failed store again, so it stayed failed.
  @Test func `a failed store is probed until it works, without a client's message`() {
    let script = script
    var writer = LogWriter(seed: 1) { ScriptedConnection(script: script) }
    writer.advance(now: at(0))
    script.events = [.ready(store: "a")]
    writer.advance(now: at(1))
    let value1 = writer.status.health
    #expect(value1 == .ready)
    submit(&writer, 2)
    var now: Int64 = 2
    while !writer.takeCompletion({ _, outcomes in #expect(outcomes[0].verdict == .unavailable) }) {
      if script.sent > 0 {
        script.sent = 0
        script.events = [.refused(ServerRefusal(state: SQLState("53100"), message: "disk full"))]
      }
      now += 50
      writer.advance(now: at(now))
    }
    #expect(now >= Limits.sendWaitMilliseconds)
    let value2 = writer.status.isWorthTrying
    #expect(!value2)
    for reason in ["disk full", "disk still full", "permission denied"] {
      script.probes = 0
      while script.probes == 0, now < 60_000 {
        now += 50
        writer.advance(now: at(now))
      }
      let isReady = writer.status.isReady
      #expect(!isReady)
      script.events = [.refused(ServerRefusal(state: SQLState("53100"), message: reason))]
      writer.advance(now: at(now))
      let health = writer.status.health
      #expect(health == .down(reason: reason))
    }
    script.probes = 0
    while script.probes == 0, now < 60_000 {
      now += 50
      writer.advance(now: at(now))
    }
    script.events = [.committed]
    writer.advance(now: at(now))
    let (health, isReady) = (writer.status.health, writer.status.isReady)
    #expect(health == .ready)
    #expect(isReady)
    #expect(script.sent == 0)
  }

  @Test func `another address replaces the connection after the batch in flight`() {
    let script = script
    let second = Script()
    var writer = LogWriter(seed: 1) { ScriptedConnection(script: script) }
    writer.advance(now: at(0))
    script.events = [.ready(store: "a")]
    writer.advance(now: at(1))
    submit(&writer, 2)
    writer.use(now: at(3)) { ScriptedConnection(script: second) }
    writer.advance(now: at(4))
    #expect(script.sent == 1 && second.sent == 0)
    script.events = [.committed]
    writer.advance(now: at(5))
    let isDone = writer.takeCompletion { _, outcomes in #expect(outcomes[0].verdict == .stored) }
    let (isReady, deadline) = (writer.status.isReady, writer.status.nextDeadline)
    #expect(isDone && !isReady && deadline <= at(5), "the next advance replaces it")
    writer.advance(now: at(6))
    writer.advance(now: at(6))
    second.events = [.ready(store: "a")]
    let isWorthTrying = writer.status.isWorthTrying
    #expect(isWorthTrying, "a planned replacement is no outage")
    writer.advance(now: at(7))
    let isReadyAgain = writer.status.isReady
    #expect(isReadyAgain)
    submit(&writer, 8)
    #expect(script.sent == 1 && second.sent == 1)
  }

  @Test func `the store's identifier is updated after each connection`() {
    let script = script
    var writer = LogWriter(seed: 1) { ScriptedConnection(script: script) }
    writer.advance(now: at(0))
    let value6 = writer.status.store
    #expect(value6.isEmpty)
    script.events = [.ready(store: "a"), .lost(reason: "gone")]
    writer.advance(now: at(1))
    let value7 = writer.status.store
    #expect(value7 == "a")
    script.events = [.ready(store: "b")]
    writer.advance(now: at(2_000))
    writer.advance(now: at(2_001))
    let value8 = writer.status.store
    #expect(value8 == "b")
  }
}

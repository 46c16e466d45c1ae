import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// Transcripts of events and the machine's actions. Time is a value.
@Suite struct BatchMachineTests {
  private static func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }
  private static func stored(_ seq: Int64) -> Outcome { Outcome(verdict: .stored, seq: seq) }
  private static func rows(_ sessions: UInt64...) -> [BatchMachine.Row] {
    sessions.map { BatchMachine.Row(session: Identifier(high: 0, low: $0), duplicateOf: nil) }
  }
  private static func connected() -> BatchMachine {
    var machine = BatchMachine(seed: 1)
    _ = machine.event(.connected(isSameStore: true), now: at(0))
    return machine
  }
  private let conflict = BatchMachine.Event.failed(SQLState("40P01"))
  private let poison = BatchMachine.Event.failed(SQLState("22021"))

  @Test func `a batch runs, commits and completes`() {
    var machine = Self.connected()
    #expect(machine.accepts(at: Self.at(0)))
    #expect(machine.submit(Self.rows(1, 2), now: Self.at(1)) == .run(0..<2))
    #expect(!machine.accepts(at: Self.at(1)))
    #expect(
      machine.event(.committed([Self.stored(7), Self.stored(1)]), now: Self.at(2)) == .complete)
    #expect(machine.outcomes == [Self.stored(7), Self.stored(1)])
    #expect(machine.accepts(at: Self.at(2)))
    #expect(machine.nextDeadline == .never)
  }

  @Test
  func `a conflict is retried three times, then the batch is split and each half runs once`() {
    var machine = Self.connected()
    var now: Int64 = 0
    #expect(machine.submit(Self.rows(1, 2, 3, 4), now: Self.at(now)) == .run(0..<4))
    for _ in 0..<3 {
      #expect(machine.event(conflict, now: Self.at(now)) == .wait)
      let deadline = machine.nextDeadline
      #expect(deadline > Self.at(now))
      #expect(deadline < Self.at(now + 250))
      now += 250
      #expect(machine.event(.tick, now: Self.at(now)) == .run(0..<4))
    }
    #expect(machine.event(conflict, now: Self.at(now)) == .run(0..<2))
    #expect(
      machine.event(.committed([Self.stored(1), Self.stored(1)]), now: Self.at(now)) == .run(2..<4))
    #expect(machine.event(conflict, now: Self.at(now)) == .run(2..<3))
    #expect(machine.event(conflict, now: Self.at(now)) == .run(3..<4))
    #expect(machine.event(.committed([Self.stored(9)]), now: Self.at(now)) == .complete)
    #expect(machine.outcomes.map(\.verdict) == [.stored, .stored, .unavailable, .stored])
  }

  @Test func `an unavailable row makes the later rows of its session unavailable`() {
    var machine = Self.connected()
    #expect(machine.submit(Self.rows(1, 2, 1), now: Self.at(0)) == .run(0..<3))
    for attempt in 1...3 {
      #expect(machine.event(conflict, now: Self.at(Int64(attempt) * 250 - 250)) == .wait)
      #expect(machine.event(.tick, now: Self.at(Int64(attempt) * 250)) == .run(0..<3))
    }
    #expect(machine.event(conflict, now: Self.at(750)) == .run(0..<1))
    // Row 0 fails alone. Row 2 belongs to the same session and is not sent.
    #expect(machine.event(conflict, now: Self.at(750)) == .run(1..<3))
    #expect(!machine.isPending(2))
    #expect(machine.event(.committed([Self.stored(5)]), now: Self.at(750)) == .complete)
    #expect(machine.outcomes.map(\.verdict) == [.unavailable, .stored, .unavailable])
  }

  @Test func `rows stored in a previous database are sent again to its replacement`() {
    var machine = Self.connected()
    #expect(machine.submit(Self.rows(1, 1, 1, 1), now: Self.at(0)) == .run(0..<4))
    #expect(machine.event(poison, now: Self.at(0)) == .run(0..<2))
    #expect(
      machine.event(.committed([Self.stored(8), Self.stored(9)]), now: Self.at(0)) == .run(2..<4))
    #expect(machine.event(.connectionLost, now: Self.at(1)) == .wait)
    #expect(machine.event(.connected(isSameStore: false), now: Self.at(2)) == .run(0..<4))
    #expect(
      machine.event(
        .committed([Self.stored(5), Self.stored(6), Self.stored(7), Self.stored(8)]),
        now: Self.at(3)) == .complete)
    #expect(machine.outcomes.map(\.seq) == [5, 6, 7, 8])
  }

  @Test func `bisection keeps the order of the rows, and rejects only the poison row`() {
    var machine = Self.connected()
    #expect(machine.submit(Self.rows(1, 1, 1, 1), now: Self.at(0)) == .run(0..<4))
    #expect(machine.event(poison, now: Self.at(0)) == .run(0..<2))
    #expect(
      machine.event(.committed([Self.stored(1), Self.stored(2)]), now: Self.at(0)) == .run(2..<4))
    #expect(machine.event(poison, now: Self.at(0)) == .run(2..<3))
    #expect(machine.event(poison, now: Self.at(0)) == .run(3..<4))
    #expect(machine.event(.committed([Self.stored(3)]), now: Self.at(0)) == .complete)
    #expect(machine.outcomes.map(\.verdict) == [.stored, .stored, .rejected, .stored])
  }

  @Test func `after a lost connection, the same part runs again to determine its outcome`() {
    var machine = Self.connected()
    #expect(machine.submit(Self.rows(1, 2), now: Self.at(0)) == .run(0..<2))
    #expect(machine.event(.connectionLost, now: Self.at(10)) == .wait)
    #expect(!machine.accepts(at: Self.at(10)))
    #expect(machine.event(.connected(isSameStore: true), now: Self.at(900)) == .run(0..<2))
    let again = [Outcome(verdict: .duplicate, seq: 4), Self.stored(1)]
    #expect(machine.event(.committed(again), now: Self.at(901)) == .complete)
    #expect(machine.outcomes == again)
  }

  @Test func `rows that a lock holds up are postponed, and the machine says so once`() {
    var machine = BatchMachine(seed: 1)
    var now = Instant(nanoseconds: 1_000_000_000)
    _ = machine.event(.connected(isSameStore: true), now: now)
    _ = machine.submit([BatchMachine.Row(session: Identifier(high: 1, low: 1))], now: now)
    for attempt in 0...BatchMachine.conflictRetries {
      #expect(!machine.hasPostponed)
      let action = machine.event(.failed(SQLState("55P03")), now: now)
      #expect((action == .complete) == (attempt == BatchMachine.conflictRetries))
      now = now.advanced(byMilliseconds: 300)
      if action != .complete { _ = machine.event(.tick, now: now) }
    }
    #expect(machine.outcomes.map(\.verdict) == [.unavailable])
    #expect(machine.hasPostponed)
    _ = machine.submit([BatchMachine.Row(session: Identifier(high: 1, low: 1))], now: now)
    _ = machine.event(.committed([Outcome(verdict: .stored)]), now: now)
    #expect(!machine.hasPostponed)
  }

  @Test func `an unavailable store fails the batch after five seconds`() {
    var machine = Self.connected()
    _ = machine.submit(Self.rows(1, 2), now: Self.at(0))
    #expect(machine.event(.connectionLost, now: Self.at(10)) == .wait)
    #expect(machine.nextDeadline == Self.at(5_000))
    #expect(machine.event(.tick, now: Self.at(4_999)) == .wait)
    #expect(machine.event(.tick, now: Self.at(5_000)) == .complete)
    #expect(machine.outcomes.map(\.verdict) == [.unavailable, .unavailable])
    #expect(!machine.accepts(at: Self.at(6_000)))
    #expect(machine.event(.connected(isSameStore: true), now: Self.at(6_000)) == .wait)
    #expect(machine.accepts(at: Self.at(6_000)))
  }

  @Test func `a full disk is retried with the batch, then probed until it has space`() {
    let full = BatchMachine.Event.failed(SQLState("53100"))
    var machine = Self.connected()
    #expect(machine.submit(Self.rows(1), now: Self.at(0)) == .run(0..<1))
    var now: Int64 = 0
    while now < 5_000 {
      #expect(machine.event(full, now: Self.at(now)) == .wait)
      #expect(machine.isStoreFailing)
      now = max(now + 1, machine.nextDeadline.milliseconds(since: .zero) + 1)
      if now < 5_000 { #expect(machine.event(.tick, now: Self.at(now)) == .run(0..<1)) }
    }
    #expect(machine.event(.tick, now: Self.at(now)) == .complete)
    #expect(machine.outcomes.map(\.verdict) == [.unavailable])
    #expect(!machine.accepts(at: Self.at(now)))
    for _ in 0..<20 {
      let due = machine.nextDeadline.milliseconds(since: .zero) + 1
      #expect(due - now <= 2_001)
      now = max(now, due)
      #expect(machine.event(.tick, now: Self.at(now)) == .probe(spilling: true))
      #expect(!machine.accepts(at: Self.at(now)))
      #expect(machine.event(full, now: Self.at(now)) == .wait)
      #expect(machine.isStoreFailing)
    }
    // A new connection is no evidence that the store works, but it starts a probe at once.
    #expect(machine.event(.connectionLost, now: Self.at(now)) == .wait)
    #expect(machine.nextDeadline == .never)
    let again = machine.event(.connected(isSameStore: true), now: Self.at(now))
    #expect(again == .probe(spilling: true))
    #expect(machine.event(.committed([]), now: Self.at(now)) == .wait)
    #expect(!machine.isStoreFailing)
    #expect(machine.accepts(at: Self.at(now)))
    #expect(machine.nextDeadline == .never)
  }

  @Test
  func `an unanswered probe closes the connection, and only a full disk gets a spilling probe`() {
    var machine = Self.connected()
    _ = machine.submit(Self.rows(1), now: Self.at(0))
    #expect(machine.event(.failed(SQLState("42501")), now: Self.at(0)) == .wait)
    var action = BatchMachine.Action.wait
    var now: Int64 = 5_000
    #expect(machine.event(.tick, now: Self.at(now)) == .complete)
    action = machine.event(.tick, now: Self.at(now))
    #expect(action == .probe(spilling: false))
    now += BatchMachine.silenceMilliseconds
    #expect(machine.event(.tick, now: Self.at(now - 1)) == .wait)
    #expect(machine.event(.tick, now: Self.at(now)) == .reconnect)
    #expect(machine.event(.connectionLost, now: Self.at(now)) == .wait)
    action = machine.event(.connected(isSameStore: true), now: Self.at(now))
    #expect(action == .probe(spilling: false))
    #expect(machine.event(.failed(SQLState("57P01")), now: Self.at(now)) == .reconnect)
  }

  @Test(arguments: ["25006", "26000", "57P01"])
  func `an error that makes the connection unusable causes a reconnect, and the batch resumes`(
    code: String
  ) {
    var machine = Self.connected()
    _ = machine.submit(Self.rows(1), now: Self.at(0))
    #expect(machine.event(.failed(SQLState(code)), now: Self.at(1)) == .reconnect)
    #expect(machine.event(.connectionLost, now: Self.at(1)) == .wait)
    #expect(machine.event(.connected(isSameStore: true), now: Self.at(50)) == .run(0..<1))
  }

  @Test func `a server that does not respond is abandoned after five seconds`() {
    var machine = Self.connected()
    _ = machine.submit(Self.rows(1), now: Self.at(100))
    #expect(machine.nextDeadline == Self.at(5_100))
    #expect(machine.event(.tick, now: Self.at(5_000)) == .wait)
    #expect(machine.event(.tick, now: Self.at(5_100)) == .reconnect)
    #expect(machine.event(.connectionLost, now: Self.at(5_100)) == .complete)
    #expect(machine.outcomes.map(\.verdict) == [.unavailable])
  }

  @Test func `duplicate rows are not sent, and take their outcome from the first`() {
    var rows = Self.rows(1, 1, 1)
    rows[1].duplicateOf = 0
    rows[1].isSame = true
    rows[2].duplicateOf = 0
    var machine = Self.connected()
    #expect(machine.submit(rows, now: Self.at(0)) == .run(0..<3))
    #expect((0..<3).map { machine.isPending($0) } == [true, false, false])
    #expect(machine.event(.committed([Self.stored(3)]), now: Self.at(0)) == .complete)
    #expect(machine.outcomes.map(\.verdict) == [.stored, .duplicate, .conflict])
    #expect(machine.outcomes[1].seq == 3)
  }

  @Test func `an empty batch completes immediately`() {
    var machine = Self.connected()
    #expect(machine.submit([], now: Self.at(0)) == .complete)
  }

  private let taken = BatchMachine.Event.failed(.uniqueViolation)
  private static let left = Outcome(verdict: .unavailable)

  @Test func `rows that a fenced transaction leaves run under locks, the stored ones do not`() {
    var machine = Self.connected()
    let rows = Self.rows(1, 2, 1)
    #expect(machine.submit(rows, isFenced: true, now: Self.at(0)) == .runFenced(0..<3))
    let first = [Self.left, Self.stored(9), Self.left]
    #expect(machine.event(.committed(first), now: Self.at(1)) == .run(0..<3))
    #expect((0..<3).map { machine.isPending($0) } == [true, false, true])
    #expect(
      machine.event(.committed([Self.stored(5), Self.stored(6)]), now: Self.at(2)) == .complete)
    #expect(machine.outcomes.map(\.seq) == [5, 9, 6])
    #expect(machine.fences.refused == 1)
    // The next batch is fenced again.
    #expect(machine.submit(rows, isFenced: true, now: Self.at(3)) == .runFenced(0..<3))
    let all = [Self.stored(7), Self.stored(10), Self.stored(8)]
    #expect(machine.event(.committed(all), now: Self.at(4)) == .complete)
    #expect(machine.fences.passed == 1)
  }

  @Test func `a refused or unanswered fenced transaction runs under locks, and only there`() {
    for event in [poison, taken] {
      var machine = Self.connected()
      let action = machine.submit(Self.rows(1, 2), isFenced: true, now: Self.at(0))
      #expect(action == .runFenced(0..<2))
      // At once, in one part, and with all attempts left.
      #expect(machine.event(event, now: Self.at(0)) == .run(0..<2))
      #expect(machine.fences.refused == 1)
      #expect(
        machine.event(.committed([Self.stored(1), Self.stored(1)]), now: Self.at(0)) == .complete)
    }
    var machine = Self.connected()
    _ = machine.submit(Self.rows(1), isFenced: true, now: Self.at(0))
    #expect(machine.event(conflict, now: Self.at(0)) == .wait)
    #expect(machine.event(.tick, now: Self.at(250)) == .run(0..<1))
    _ = machine.event(.committed([Self.stored(1)]), now: Self.at(250))
    _ = machine.submit(Self.rows(1), isFenced: true, now: Self.at(300))
    #expect(machine.event(.connectionLost, now: Self.at(310)) == .wait)
    #expect(machine.event(.connected(isSameStore: true), now: Self.at(320)) == .run(0..<1))
    _ = machine.event(.committed([Self.stored(2)]), now: Self.at(330))
    // Its heads are those of another history.
    _ = machine.submit(Self.rows(1), isFenced: true, now: Self.at(400))
    #expect(machine.event(.connectionLost, now: Self.at(410)) == .wait)
    #expect(machine.event(.connected(isSameStore: false), now: Self.at(420)) == .run(0..<1))
  }

  /// For any events in any order, every row gets one outcome, and the machine always completes.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func `any sequence of faults ends with one outcome for each row`(seed: UInt64) {
    var random = Backoff(firstMilliseconds: 1_000_000, lastMilliseconds: 2_000_000, seed: seed)
    func roll(_ sides: Int64) -> Int64 { random.next(after: .zero).nanoseconds / 1_000_000 % sides }
    let codes = ["40P01", "22021", "23514", "53100", "25006", "55P03", "XX000", "57014"]
    var machine = Self.connected()
    var isConnected = true
    var now: Int64 = 0
    let rows = (0..<20).map { _ in
      BatchMachine.Row(session: Identifier(high: 0, low: UInt64(roll(4))), duplicateOf: nil)
    }
    var committed = 0
    var action = machine.submit(rows, isFenced: seed % 2 == 0, now: Self.at(now))
    var events = 0
    while action != .complete, events < 10_000 {
      events += 1
      now += roll(20)
      switch action {
      case .run(let range), .runFenced(let range):
        switch roll(10) {
        case 0:
          isConnected = false
          action = machine.event(.connectionLost, now: Self.at(now))
        case 1...4:
          action = machine.event(
            .failed(SQLState(codes[Int(roll(Int64(codes.count)))])), now: Self.at(now))
        default:
          let pending = range.filter { machine.isPending($0) }
          // A fenced transaction may leave some of the four sessions.
          let least = action == .run(range) ? 0 : UInt64(roll(4))
          let results = pending.map { rows[$0].session.low < least ? Self.left : Self.stored(1) }
          committed += results.count { $0 != Self.left }
          action = machine.event(.committed(results), now: Self.at(now))
        }
      case .reconnect:
        isConnected = false
        action = machine.event(.connectionLost, now: Self.at(now))
      case .wait:
        if !isConnected, roll(2) == 0 {
          isConnected = true
          action = machine.event(.connected(isSameStore: true), now: Self.at(now))
        } else {
          let deadline = machine.nextDeadline
          if deadline != .never { now = max(now, deadline.nanoseconds / 1_000_000 + 1) }
          action = machine.event(.tick, now: Self.at(now))
        }
      case .complete: break
      case .probe: Issue.record("a busy machine needs no probe")
      }
    }
    #expect(action == .complete)
    #expect(machine.outcomes.count == 20)
    #expect(machine.outcomes.count { $0.verdict == .stored } == committed)
    // Within a session, no row is stored after a postponed one.
    for (index, row) in rows.enumerated() where machine.outcomes[index].verdict == .unavailable {
      for later in index..<rows.count where rows[later].session == row.session {
        #expect(machine.outcomes[later].verdict != .stored)
      }
    }
  }
}

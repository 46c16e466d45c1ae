import Foundation
import Histogram
import Kernel
import Primitives
import Testing

@testable import chirrup_load

/// Who plays in the runs with many clients, and what is made of their return.
@Suite struct RoomsTests {
  static func credentials(visitors: Int, operators: Int) -> [Credential] {
    (0..<visitors).map { number in
      Credential(
        kind: .visitor, token: "v\(number)",
        session: Identifier(high: 0x7000, low: 1 << 63 | UInt64(number)))
    } + (0..<operators).map { Credential(kind: .operator_, token: "o\($0)") }
  }

  @Test func aRoomLivesInOneProcess() {
    let casts = Cast.rooms(
      RoomsTests.credentials(visitors: 7, operators: 3), count: 7, followers: 20, processes: 3)
    #expect(casts.count == 3)
    #expect(casts.map(\.sessions.count) == [3, 2, 2])
    #expect(Set(casts.flatMap(\.sessions)).count == 7)
    let numbers = casts.flatMap { $0.parts.map(\.number) }
    #expect(Set(numbers).count == 7 * 20, "every client has a number of its own")
    for cast in casts {
      for room in cast.sessions.indices {
        // The connections of a room stand together, so that the first rooms can come first.
        let parts = cast.parts[room * 20..<(room + 1) * 20]
        #expect(parts.allSatisfy { $0.sessions == [room] })
        #expect(parts.count { $0.role == .visitor } == Cast.talkersOfRoom)
      }
    }
  }

  @Test func theAskedPartOfTheListenersCanStopReading() {
    let casts = Cast.rooms(
      RoomsTests.credentials(visitors: 10, operators: 3), count: 10, followers: 110, processes: 2,
      stopsEvery: 100)
    let stopping = casts.flatMap(\.parts).filter { $0.habit == .stopping }
    #expect(stopping.count == 10)
    #expect(stopping.allSatisfy { $0.role == .operator_ }, "nobody who talks")
  }

  @Test func everySecondSessionHasTwoOperatorsOfItsProcess() throws {
    let casts = Cast.split(
      RoomsTests.credentials(visitors: 40, operators: 6), loops: 2, operatorsPerSession: 1.5,
      subscriptionsMax: 4)
    #expect(casts.map(\.sessions.count) == [20, 20])
    var followers: [Int] = []
    for cast in casts {
      for session in cast.sessions.indices {
        let parts = cast.parts.filter { $0.sessions.contains(session) }
        #expect(parts.count { $0.role == .visitor } == 1)
        let tokens = parts.filter { $0.role == .operator_ }.map(\.token)
        #expect(Set(tokens).count == tokens.count, "nobody follows a session twice")
        followers.append(tokens.count)
      }
      #expect(cast.parts.allSatisfy { $0.sessions.count <= 4 })
    }
    #expect(followers.count { $0 == 1 } == 20 && followers.count { $0 == 2 } == 20)
    let numbers = casts.flatMap { $0.parts.map(\.number) }
    #expect(Set(numbers).count == numbers.count)
  }

  @Test func whoComesBackCountsOnceFromTheCut() {
    var recovery = Recovery(at: Instant(nanoseconds: 1_000_000), clients: 3)
    recovery.cameBack(1, at: Instant(nanoseconds: 3_000_000))
    recovery.cameBack(1, at: Instant(nanoseconds: 9_000_000))
    recovery.cameBack(0, at: Instant(nanoseconds: 5_000_000))
    #expect(recovery.missing == 1)
    #expect(recovery.times.totalCount == 2)
    #expect((4_000..<4_010).contains(recovery.times.max), "three digits are kept")
  }

  @Test func aBrokenPromiseFailsTheRun() {
    var clean = LoopResult()
    clean.counters.made = 1
    clean.counters.acked = 1
    var record = CrowdRecord(command: "storm", title: "")
    record.judge(clean, hasDatabase: true)
    #expect(record.passed)
    for kind in Violations.Kind.allCases {
      var result = clean
      result.violations.note(kind, "planted")
      var record = CrowdRecord(command: "storm", title: "")
      record.judge(result, hasDatabase: true)
      #expect(!record.passed)
      #expect(record.record.figures[kind.rawValue] == 1)
    }
    for spoil in [
      { (result: inout LoopResult) in result.problems = ["3 clients were not live again"] },
      { $0.unsettled = 1 }, { $0.didSettle = false }, { $0.counters.resyncs = 1 },
      { $0.counters.refusals = ["forbidden": 1] },
    ] {
      var result = clean
      spoil(&result)
      var record = CrowdRecord(command: "storm", title: "")
      record.judge(result, hasDatabase: true)
      #expect(!record.passed)
    }
  }

  @Test func aTargetIsTheSameInAnotherProcess() throws {
    var target = try #require(Target("ws://127.0.0.1:8080/debug/echo"))
    #expect(target.source(of: 5) == nil)
    target.sources = [IPAddress(version4: 0x7F00_0002), IPAddress(version4: 0x7F00_0003)]
    let there = try JSONDecoder().decode(Target.self, from: JSONEncoder().encode(target))
    #expect(there.url == target.url && there.port == 8080 && there.isEcho)
    #expect(there.source(of: 5)?.description == "127.0.0.3")
  }
}

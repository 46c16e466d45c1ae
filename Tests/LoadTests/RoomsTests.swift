import Foundation
import Histogram
import Kernel
import Primitives
import Testing

@testable import chirrup_load

/// The clients of runs with many connections, and the evaluation of their return.
@Suite struct RoomsTests {
  static func credentials(visitors: Int, operators: Int) -> [Credential] {
    (0..<visitors).map { number in
      Credential(
        kind: .visitor, token: "v\(number)",
        session: Identifier(high: 0x7000, low: 1 << 63 | UInt64(number)))
    } + (0..<operators).map { Credential(kind: .operator_, token: "o\($0)") }
  }

  @Test func `a room lives in one process`() {
    let groups = ClientGroup.rooms(
      RoomsTests.credentials(visitors: 7, operators: 3), count: 7, followers: 20, processes: 3)
    #expect(groups.count == 3)
    #expect(groups.map(\.sessions.count) == [3, 2, 2])
    #expect(Set(groups.flatMap(\.sessions)).count == 7)
    let numbers = groups.flatMap { $0.members.map(\.number) }
    #expect(Set(numbers).count == 7 * 20, "every client has its own number")
    for group in groups {
      for room in group.sessions.indices {
        // The connections of a room are adjacent, so that the first rooms can connect first.
        let parts = group.members[room * 20..<(room + 1) * 20]
        #expect(parts.allSatisfy { $0.sessions == [room] })
        #expect(parts.count { $0.role == .visitor } == ClientGroup.talkersOfRoom)
      }
    }
  }

  @Test func `the requested share of the listeners can stop reading`() {
    let groups = ClientGroup.rooms(
      RoomsTests.credentials(visitors: 10, operators: 3), count: 10, followers: 110, processes: 2,
      stopsEvery: 100)
    let stopping = groups.flatMap(\.members).filter { $0.behaviour == .stopping }
    #expect(stopping.count == 10)
    #expect(stopping.allSatisfy { $0.role == .operator_ }, "no sender stops reading")
  }

  @Test func `every second session has two operators of its process`() throws {
    let groups = ClientGroup.split(
      RoomsTests.credentials(visitors: 40, operators: 6), loops: 2, operatorsPerSession: 1.5,
      subscriptionsMax: 4)
    #expect(groups.map(\.sessions.count) == [20, 20])
    var followers: [Int] = []
    for group in groups {
      for session in group.sessions.indices {
        let parts = group.members.filter { $0.sessions.contains(session) }
        #expect(parts.count { $0.role == .visitor } == 1)
        let tokens = parts.filter { $0.role == .operator_ }.map(\.token)
        #expect(Set(tokens).count == tokens.count, "no operator follows a session twice")
        followers.append(tokens.count)
      }
      #expect(group.members.allSatisfy { $0.sessions.count <= 4 })
    }
    #expect(followers.count { $0 == 1 } == 20 && followers.count { $0 == 2 } == 20)
    let numbers = groups.flatMap { $0.members.map(\.number) }
    #expect(Set(numbers).count == numbers.count)
  }

  @Test func `the time of a returning client counts from the cut, once`() {
    var recovery = Recovery(at: Instant(nanoseconds: 1_000_000), clients: 3)
    recovery.cameBack(1, at: Instant(nanoseconds: 3_000_000))
    recovery.cameBack(1, at: Instant(nanoseconds: 9_000_000))
    recovery.cameBack(0, at: Instant(nanoseconds: 5_000_000))
    #expect(recovery.missing == 1)
    #expect(recovery.times.totalCount == 2)
    #expect((4_000..<4_010).contains(recovery.times.max), "three digits are kept")
  }

  @Test func `a broken promise fails the run`() {
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

  @Test func `a target is the same in another process`() throws {
    var target = try #require(Target("ws://127.0.0.1:8080/debug/echo"))
    #expect(target.source(of: 5) == nil)
    target.sources = [IPAddress(version4: 0x7F00_0002), IPAddress(version4: 0x7F00_0003)]
    let there = try JSONDecoder().decode(Target.self, from: JSONEncoder().encode(target))
    #expect(there.url == target.url && there.port == 8080 && there.isEcho)
    #expect(there.source(of: 5)?.description == "127.0.0.3")
  }
}

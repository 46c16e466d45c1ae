import Primitives
import Testing

@testable import chirrup_load

@Suite struct FaultPlanTests {
  @Test func `a seed gives the same faults again`() {
    let one = (0..<100).map { FaultPlan(seed: 7).cycle($0) }
    #expect(one == (0..<100).map { FaultPlan(seed: 7).cycle($0) })
    #expect(one != (0..<100).map { FaultPlan(seed: 8).cycle($0) })
  }

  @Test(arguments: [0, 1, UInt64.max])
  func `every round has every kind`(seed: UInt64) {
    let plan = FaultPlan(seed: seed)
    let count = FaultKind.allCases.count
    for round in 0..<5 {
      let kinds = (0..<count).map { plan.cycle(round * count + $0)[0].kind }
      #expect(Set(kinds).count == count)
    }
    let first = Set((0..<3).map { plan.cycle($0)[0].kind })
    #expect(first == [.killGateway, .stopDatabase, .loseCommit])
  }

  @Test func `simultaneous faults affect different parts`() {
    let plan = FaultPlan(seed: 3)
    let pairs = (0..<500).map { plan.cycle($0) }.filter { $0.count == 2 }
    #expect(pairs.count > 50 && pairs.count < 450)
    for pair in pairs {
      #expect(pair[0].kind.organ != pair[1].kind.organ)
      #expect(pair[0].at <= pair[1].at)
    }
  }

  @Test func `only requested faults occur`() {
    let plan = FaultPlan(seed: 3, kinds: [.cutClients])
    for number in 0..<20 { #expect(plan.cycle(number).map(\.kind) == [.cutClients]) }
  }
}

@Suite struct CrowdTests {
  @Test func `every session has two tabs and all operators`() {
    let visitors = (0..<12).map { number in
      Credential(
        kind: .visitor, token: "v\(number)", session: Identifier(high: 1, low: UInt64(number)))
    }
    let operators = (0..<6).map { Credential(kind: .operator_, token: "o\($0)") }
    let group = ClientGroup.crowd(visitors + operators)
    #expect(group.sessions.count == 12 && group.members.count == 30)
    for session in group.sessions.indices {
      #expect(group.members.count { $0.sessions.contains(session) } == 8)
    }
    #expect(group.members.map(\.number) == Array(0..<30))
    for role in [Client.Role.visitor, .operator_] {
      let behaviours = Set(group.members.filter { $0.role == role }.map(\.behaviour))
      #expect(behaviours == [.plain, .deflating, .slow, .wandering])
    }
  }
}

/// The comparison with the table during the load.
@Suite struct TableCheckTests {
  let stamp = Stamp(nonce: 9, wall: WallTime(microseconds: 1_800_000_000_000_000), now: .zero)
  let bodies = Bodies(byteCount: 80)

  func id(_ number: Int, client: Int = 1) -> Identifier {
    stamp.identifier(due: .zero, client: client, number: number)
  }

  /// Five messages, all delivered, the first three acknowledged.
  func log(_ ids: [Identifier]? = nil) -> Ledger.Log {
    var ledger = Ledger(sessions: [Scene.session])
    for (offset, id) in (ids ?? (0..<5).map { id($0) }).enumerated() {
      ledger.shown(0, seq: offset + 1, id: id)
      if offset < 3 { ledger.acked(0, seq: offset + 1, id: id) }
    }
    return ledger.logs[0]
  }

  func rows(_ ids: [Identifier]? = nil) -> [StoredMessage] {
    (ids ?? (0..<5).map { id($0) }).enumerated().map {
      StoredMessage(seq: $0.offset + 1, id: $0.element, body: bodies.body(of: $0.element))
    }
  }

  func check(
    _ rows: [StoredMessage], _ log: Ledger.Log? = nil, stored: Int? = nil, lastSeq: Int = 5,
    made: Int = 5, isFinal: Bool = false
  ) -> Violations {
    var check = TableCheck(stamp: stamp, bodies: bodies, sessions: 1)
    let log = log ?? self.log()
    check.take(rows, of: 0, log) { _ in made }
    check.close(0, log, stored: stored ?? rows.count, lastSeq: lastSeq, isFinal: isFinal)
    return check.violations
  }

  @Test func `equal logs have no violation`() {
    #expect(check(rows(), isFinal: true).isEmpty)
  }

  @Test func `stored rows wait for their delivery`() {
    let seven = (0..<7).map { id($0) }
    #expect(check(rows(seven), lastSeq: 7, made: 7).isEmpty)
    #expect(check(rows(seven), lastSeq: 7, made: 7, isFinal: true)[.lost] == 2)
  }

  @Test func `each row is checked once and later rows later`() {
    var check = TableCheck(stamp: stamp, bodies: bodies, sessions: 1)
    check.take(Array(rows()[..<2]), of: 0, log()) { _ in 5 }
    #expect(check.verified(0) == 2)
    check.take(Array(rows()[2...]), of: 0, log()) { _ in 5 }
    check.close(0, log(), stored: 5, lastSeq: 5, isFinal: true)
    #expect(check.verified(0) == 5 && check.violations.isEmpty)
  }

  @Test(arguments: 0..<5) func `a missing row is reported with its place`(missing: Int) {
    var rows = rows()
    rows.remove(at: missing)
    let violations = check(rows, stored: 5)
    #expect(violations[.lost] == 1)
    #expect(violations.examples.contains { $0.contains("\(id(missing))") })
  }

  @Test func `a row deleted later changes the count`() {
    #expect(check(rows(), stored: 4)[.lost] == 1)
  }

  @Test func `exchanged rows and other bodies are mismatched`() {
    #expect(check(rows([0, 2, 1, 3, 4].map { id($0) }))[.mismatched] == 2)
    var rows = rows()
    rows[3].body[40] ^= 1
    #expect(check(rows)[.mismatched] == 1)
  }

  @Test func `a sender's order and ids are checked`() {
    let turned = [0, 2, 1, 3, 4].map { id($0) }
    #expect(check(rows(turned), log(turned))[.reordered] == 1)
    let twice = [0, 1, 1, 2, 3].map { id($0) }
    #expect(check(rows(twice), log(twice))[.duplicated] == 1)
    let mixed = [id(0), id(0, client: 2), id(1), id(1, client: 2), id(2)]
    #expect(check(rows(mixed), log(mixed)).isEmpty)
  }

  @Test func `an unsent message is a mismatch`() {
    #expect(check(rows(), made: 4)[.mismatched] == 1)
    let strangers = [0, 1, 2, 3].map { id($0) } + [Identifier(high: 0x7000, low: 1 << 63)]
    #expect(check(rows(strangers), log(strangers))[.mismatched] == 1)
  }
}

import Primitives
import Testing

@testable import chirrup_load

/// The comparison with the database detects injected faults.
@Suite struct AuditTests {
  let stamp = Stamp(nonce: 9, wall: WallTime(microseconds: 1_800_000_000_000_000), now: .zero)
  let bodies = Bodies(byteCount: 80)

  func id(_ number: Int) -> Identifier {
    stamp.identifier(due: .zero, client: 1, number: number)
  }

  /// Five messages, all delivered and acknowledged.
  var log: Ledger.Log {
    var ledger = Ledger(sessions: [Scene.session])
    for number in 0..<5 {
      ledger.shown(0, seq: number + 1, id: id(number))
      ledger.acked(0, seq: number + 1, id: id(number))
    }
    return ledger.logs[0]
  }

  var rows: [StoredMessage] {
    (0..<5).map { StoredMessage(seq: $0 + 1, id: id($0), body: bodies.body(of: id($0))) }
  }

  func violations(_ rows: [StoredMessage], lastSeq: Int = 5) -> Violations {
    var violations = Violations()
    compare(log, rows, lastSeq: lastSeq, stamp: stamp, bodies: bodies, &violations)
    return violations
  }

  @Test func `equal logs have no violation`() {
    #expect(violations(rows).isEmpty)
  }

  @Test func `a missing row is lost`() {
    for missing in 0..<5 {
      var rows = rows
      rows.remove(at: missing)
      #expect(violations(rows, lastSeq: missing == 4 ? 4 : 5)[.lost] == 1)
    }
    #expect(violations([], lastSeq: 0)[.lost] == 5)
  }

  @Test func `two rows exchanged are a mismatch`() {
    var rows = rows
    rows.swapAt(1, 2)
    rows[1].seq = 2
    rows[2].seq = 3
    #expect(violations(rows)[.mismatched] > 0)
  }

  @Test func `a changed body is a mismatch`() {
    var rows = rows
    rows[3].body[40] ^= 1
    #expect(violations(rows)[.mismatched] == 1)
  }

  @Test func `a seq stored twice is a duplicate`() {
    #expect(violations(rows + [rows[4]])[.duplicated] == 1)
  }

  @Test func `an undelivered row is lost`() {
    let extra = StoredMessage(seq: 6, id: id(5), body: bodies.body(of: id(5)))
    #expect(violations(rows + [extra], lastSeq: 6)[.lost] == 1)
  }

  @Test func `a wrong last seq is a mismatch`() {
    #expect(violations(rows, lastSeq: 7)[.mismatched] == 1)
  }
}

@Suite struct CredentialsTests {
  @Test func `lines of both roles are parsed`() throws {
    let text = """
      {"token":"a.b.c","session":"01900000-0000-7000-8000-000000000001","visitor":{}}

      {"token":"d.e.f","operator":"01900000-0000-7000-8000-000000000002","session":null}
      """
    let credentials = try Credentials.parse(Array(text.utf8))
    #expect(credentials.map(\.kind) == [.visitor, .operator_])
    #expect(credentials.map(\.token) == ["a.b.c", "d.e.f"])
    #expect(credentials[0].session == Scene.session)
  }

  @Test(arguments: ["{}", "x", "{\"token\":\"a\",\"visitor\":\"b\"}"])
  func `other lines are refused`(line: String) {
    #expect(throws: CredentialFailure.self) { try Credentials.parse(Array(line.utf8)) }
  }

  @Test func `a group keeps a session and its clients on one loop`() {
    let visitors = (0..<10).map { number in
      Credential(
        kind: .visitor, token: "v\(number)",
        session: Identifier(high: 1, low: UInt64(number)))
    }
    let operators = (0..<3).map { Credential(kind: .operator_, token: "o\($0)") }
    let groups = ClientGroup.split(visitors + operators, loops: 2, subscriptionsMax: 2)
    #expect(groups.reduce(0) { $0 + $1.sessions.count } == 10)
    var numbers: Set<Int> = []
    for group in groups {
      var followed = Array(repeating: 0, count: group.sessions.count)
      for member in group.members {
        #expect(numbers.insert(member.number).inserted)
        #expect(member.sessions.count <= 2)
        if member.role == .operator_ { for session in member.sessions { followed[session] += 1 } }
      }
      #expect(followed.allSatisfy { $0 == 1 })
    }
  }
}

@Suite struct TargetTests {
  @Test func `addresses are parsed`() throws {
    let target = try #require(Target("ws://127.0.0.1:8080"))
    #expect(target.port == 8080 && target.path == "/api/v1/ws" && target.host == "127.0.0.1:8080")
    #expect(Target("ws://localhost/echo")?.path == "/echo")
    #expect(Target("ws://[::1]:9")?.port == 9)
    #expect(Target("http://127.0.0.1") == nil && Target("ws://nowhere") == nil)
  }
}

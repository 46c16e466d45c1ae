import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

/// A batch locks each of its sessions once, in the order of their ids, for any order of the rows.
@Suite struct LockTests {
  @Test func `every session is locked once, in order`() {
    let ids = (0..<4).map { Identifier(high: UInt64(4 - $0), low: 7) }
    var batch = Batch()
    for place in [0, 1, 0, 0, 3, 1, 2, 2, 3, 0] { batch.add(ids[place], "x") }
    var parameters = ParameterBuffer()
    var keys: [AppendStatement.SessionKey] = []
    AppendStatement.writeLocks(of: batch, Array(0..<batch.count), &keys, to: &parameters)
    #expect(keys.map(\.session) == ids.reversed())
    let count = parameters.count
    #expect(count == 2)
    // Part of a batch locks its own sessions only.
    AppendStatement.writeLocks(of: batch, [1, 4, 5], &keys, to: &parameters)
    #expect(keys.map(\.session) == [ids[3], ids[1]])
  }
}

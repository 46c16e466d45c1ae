/// Quotas that the loops of a process count together, on threads (issue 17.1).
import Kernel
import Primitives
import Settings
import Testing

@testable import Gateway

@Suite struct QuotaThreadTests {
  private static let limit = 4_000
  private let workspace = Identifier(high: 7 << 40, low: 7)

  /// One loop's part of the quotas, and the messages that it has accepted.
  private struct Loop {
    var table: QuotaTable
    var visitor: Identifier
    var accepted = 0

    /// Tries to send `tries` messages, with a sweep after every 500.
    mutating func send(_ tries: Int, in workspace: Identifier) {
      for number in 1...tries {
        let slot = table.slot(of: visitor, address: 0, workspace: workspace, nowMilliseconds: 0)
        if let slot, table.take(slot, byteCount: 1, nowMilliseconds: 0) == nil { accepted += 1 }
        if number % 500 == 0 { table.settle(nowMilliseconds: 0) }
      }
    }
  }

  @Test(
    "loops on threads never exceed a quota together, and can use all of it",
    arguments: [2, 8], [true, false])
  func threads(count: Int, ofOneVisitor: Bool) async throws {
    var limits = QuotaTable.Configuration()
    if ofOneVisitor {
      limits.visitor = .init(messagesPerMinute: Self.limit)
    } else {
      limits.workspace = .init(messagesPerMinute: Self.limit)
    }
    let workspace = workspace
    let shared = SharedQuotas(limits, loopCount: count)
    let threads = WorkerThreads(name: "quotas", threads: count, waitingMax: 0)
    var loops = await withTaskGroup(of: Loop?.self) { group in
      for index in 0..<count {
        let visitor = Identifier(high: 1 << 40, low: ofOneVisitor ? 1 : UInt64(1 + index))
        group.addTask {
          await threads.run {
            var loop = Loop(table: QuotaTable(shared), visitor: visitor)
            loop.send(Self.limit, in: workspace)
            return loop
          }
        }
      }
      return await group.reduce(into: [Loop]()) { loops, loop in
        if let loop { loops.append(loop) }
      }
    }
    #expect(loops.count == count)
    #expect(loops.reduce(0) { $0 + $1.accepted } <= Self.limit)
    // The rest is held by loops that have ended before.
    for index in loops.indices { loops[index].send(Self.limit, in: workspace) }
    #expect(loops.reduce(0) { $0 + $1.accepted } == Self.limit)
  }

  @Test("the limits of the settings are those of the whole process, not of a loop")
  func settings() {
    var settings = LimitSettings()
    (settings.sendsPerVisitor, settings.sendsPerWorkspace) = (60, 100)
    settings.storedMebibytesPerAddress = 3
    #expect(settings.quotas.visitor.messages.amount == 60)
    #expect(settings.quotas.workspace.messages.amount == 100)
    #expect(settings.quotas.address.kibibytes.amount == 3 << 10)
  }
}

/// Quotas of visitors, addresses and workspaces in a table of bounded size (issue 17.1).
import Testing

@testable import Primitives

@Suite struct QuotaTableTests {
  private func id(_ number: UInt64) -> Identifier {
    Identifier(high: 1 << 32 | number, low: number)
  }
  private let workspace = Identifier(high: 7 << 40, low: 7)

  private func table(
    entriesMax: Int = 100, _ change: (inout QuotaTable.Configuration) -> Void
  ) -> QuotaTable {
    QuotaTable(ledger(loops: 1, change), entriesMax: entriesMax)
  }

  private func ledger(
    loops: Int, accountsMax: Int = 1_000, _ change: (inout QuotaTable.Configuration) -> Void
  ) -> QuotaLedger {
    var limits = QuotaTable.Configuration()
    change(&limits)
    return QuotaLedger(limits, loopCount: loops, accountsMax: accountsMax)
  }

  private func slot(
    _ table: inout QuotaTable, _ visitor: UInt64, address: UInt32 = 0, at now: Int64 = 0
  ) throws -> QuotaTable.Slot {
    let found = table.slot(
      of: id(visitor), address: address, workspace: workspace, nowMilliseconds: now)
    return try #require(found)
  }

  @Test("messages of a visitor are limited over all connections, and the wait is exact")
  func messages() throws {
    var table = table { $0.visitor = .init(messagesPerMinute: 6) }
    let (one, two) = (try slot(&table, 1), try slot(&table, 1))
    for number in 0..<6 {
      let refusal = table.take(number % 2 == 0 ? one : two, byteCount: 1, nowMilliseconds: 0)
      #expect(refusal == nil)
    }
    let taken = table.take(two, byteCount: 1, nowMilliseconds: 4_000)
    let refusal = try #require(taken)
    #expect(refusal.subject == .visitor && !refusal.isOfBytes)
    #expect(refusal.waitMilliseconds == 6_000)
    #expect(table.take(one, byteCount: 1, nowMilliseconds: 9_999) != nil)
    #expect(table.take(one, byteCount: 1, nowMilliseconds: 10_000) == nil)
    #expect(table.take(one, byteCount: 1, nowMilliseconds: 10_000) != nil)
    let other = try slot(&table, 2)
    #expect(table.take(other, byteCount: 1, nowMilliseconds: 0) == nil)
  }

  @Test("bytes count in KiB, at least one for a message, and come back over a day")
  func bytes() throws {
    var table = table { $0.visitor = .init(kibibytesPerDay: 20) }
    let slot = try slot(&table, 1)
    #expect(table.take(slot, byteCount: 16_384, nowMilliseconds: 0) == nil)
    #expect(table.take(slot, byteCount: 1_025, nowMilliseconds: 0) == nil)
    #expect(table.take(slot, byteCount: 0, nowMilliseconds: 0) == nil)
    let taken = table.take(slot, byteCount: 2_048, nowMilliseconds: 0)
    let refusal = try #require(taken)
    #expect(refusal.isOfBytes && refusal.waitMilliseconds == 86_400_000 / 20)
    #expect(table.take(slot, byteCount: 1_024, nowMilliseconds: 0) == nil)
    #expect(table.take(slot, byteCount: 1, nowMilliseconds: 0) != nil)
    table.settle(nowMilliseconds: 0)
    // More than the whole quota needs an unused one.
    #expect(table.take(slot, byteCount: 100 << 10, nowMilliseconds: 86_399_999) != nil)
    #expect(table.take(slot, byteCount: 100 << 10, nowMilliseconds: 86_400_000) == nil)
  }

  @Test("visitors of one address, and of one workspace, share its quota; a refused one counts none")
  func groups() throws {
    var table = table {
      $0.visitor = .init(messagesPerMinute: 4)
      $0.address = .init(messagesPerMinute: 5)
      $0.workspace = .init(messagesPerMinute: 7)
    }
    let (one, two) = (try slot(&table, 1, address: 9), try slot(&table, 2, address: 9))
    let (three, exempt) = (try slot(&table, 3, address: 8), try slot(&table, 4))
    func refused(_ slot: QuotaTable.Slot) -> QuotaTable.Subject? {
      table.take(slot, byteCount: 1, nowMilliseconds: 0)?.subject
    }
    for _ in 0..<4 { #expect(refused(one) == nil) }
    #expect(refused(one) == .visitor)
    #expect(refused(two) == nil)
    #expect(refused(two) == .address)
    #expect(refused(three) == nil)
    #expect(refused(exempt) == nil)
    #expect(refused(exempt) == .workspace)
    #expect(refused(three) == .workspace)
  }

  @Test("a visitor who changes the address is counted under the new one, with the same own quota")
  func moves() throws {
    var table = table {
      $0.visitor = .init(messagesPerMinute: 3)
      $0.address = .init(messagesPerMinute: 2)
    }
    let before = try slot(&table, 1, address: 9)
    for _ in 0..<2 { #expect(table.take(before, byteCount: 1, nowMilliseconds: 0) == nil) }
    #expect(table.take(before, byteCount: 1, nowMilliseconds: 0)?.subject == .address)
    let after = try slot(&table, 1, address: 8)
    #expect(table.take(after, byteCount: 1, nowMilliseconds: 0) == nil)
    #expect(table.take(after, byteCount: 1, nowMilliseconds: 0)?.subject == .visitor)
  }

  @Test("a table and the ledger are bounded; a sender whose entry is freed keeps the used quota")
  func bounded() throws {
    let ledger = ledger(loops: 1, accountsMax: 40) {
      $0.visitor = .init(messagesPerMinute: 60)
      $0.address = .init(messagesPerMinute: 60)
      $0.workspace = .init(messagesPerMinute: 100_000)
    }
    var table = QuotaTable(ledger, entriesMax: 20)
    let busy = try slot(&table, 2, address: 2)
    for _ in 0..<60 { #expect(table.take(busy, byteCount: 1, nowMilliseconds: 0) == nil) }
    #expect(table.take(busy, byteCount: 1, nowMilliseconds: 0) != nil)
    for number in 3..<33 as Range<UInt64> {
      _ = try slot(&table, number, address: UInt32(number))
    }
    #expect(!table.isValid(busy) && table.count <= 20)
    let again = try slot(&table, 2, address: 2)
    #expect(table.take(again, byteCount: 1, nowMilliseconds: 0) != nil)
    for number in 200..<2_000 as Range<UInt64> {
      let slot = try slot(&table, number, address: UInt32(number), at: 3_000)
      #expect(table.take(slot, byteCount: 1, nowMilliseconds: 3_000) == nil)
      if number % 100 == 0 { table.settle(nowMilliseconds: 3_000) }
      #expect(table.count <= 20 && ledger.count <= 40)
    }
  }

  @Test("no limit: nothing is refused, and nothing is counted")
  func none() throws {
    let ledger = ledger(loops: 1) { _ in }
    var table = QuotaTable(ledger)
    #expect(!table.isLimited)
    let slot = try slot(&table, 1, address: 1)
    for _ in 0..<100_000 {
      #expect(table.take(slot, byteCount: 1 << 20, nowMilliseconds: 0) == nil)
    }
    table.settle(nowMilliseconds: 0)
    #expect(ledger.count == 0)
  }

  @Test("a sender on several loops has one quota: never more, and at least three quarters at once")
  func loops() throws {
    let ledger = ledger(loops: 4) {
      $0.visitor = .init(messagesPerMinute: 1_000, kibibytesPerDay: 100_000)
    }
    var tables = (0..<4).map { _ in QuotaTable(ledger) }
    // One message on each of three loops, which then hold an allowance.
    for loop in 0..<3 {
      let own = try slot(&tables[loop], 1)
      #expect(tables[loop].take(own, byteCount: 1, nowMilliseconds: 0) == nil)
    }
    var count = 3
    let own = try slot(&tables[3], 1)
    while tables[3].take(own, byteCount: 1, nowMilliseconds: 0) == nil { count += 1 }
    #expect(750...1_000 ~= count)
    // The other three use their allowances up.
    for loop in 0..<3 {
      let own = try slot(&tables[loop], 1)
      while tables[loop].take(own, byteCount: 1, nowMilliseconds: 0) == nil { count += 1 }
    }
    #expect(count == 1_000)
    // An allowance is returned after 10 seconds without a message, in which 167 more came back.
    for loop in 0..<3 { tables[loop].settle(nowMilliseconds: 60_000) }
    #expect(tables[0].take(try slot(&tables[0], 1), byteCount: 1, nowMilliseconds: 60_000) == nil)
    for _ in 0..<QuotaTable.idleMax + 1 {
      for loop in 0..<3 { tables[loop].settle(nowMilliseconds: 60_000) }
    }
    count = 1
    while tables[3].take(own, byteCount: 1, nowMilliseconds: 60_000) == nil { count += 1 }
    #expect(count == 1_000)
  }

  @Test("an allowance that is spent late counts from then on")
  func late() throws {
    let ledger = ledger(loops: 2) { $0.visitor = .init(messagesPerMinute: 600) }
    var (one, two) = (QuotaTable(ledger), QuotaTable(ledger))
    let (early, late) = (try slot(&one, 1), try slot(&two, 1))
    #expect(two.take(late, byteCount: 1, nowMilliseconds: 0) == nil)
    // All that was used has come back, but not what the second loop still holds.
    var count = 0
    while one.take(early, byteCount: 1, nowMilliseconds: 60_000) == nil { count += 1 }
    while two.take(late, byteCount: 1, nowMilliseconds: 60_000) == nil { count += 1 }
    #expect(count <= 600 && count >= 599)
  }

  @Test("a busy sender needs the ledger once for 64 messages, a slow one never between sweeps")
  func locks() throws {
    let ledger = ledger(loops: 2) { $0.visitor = .init(messagesPerMinute: 100_000) }
    var table = QuotaTable(ledger)
    let own = try slot(&table, 1)
    func exchanges() -> Int { ledger.withAccounts { $0.lendings } }
    for _ in 0..<6_400 { #expect(table.take(own, byteCount: 1, nowMilliseconds: 0) == nil) }
    #expect(exchanges() == 100)
    // 100 seconds with a message in each: the sweeps lend what the next message takes.
    for second in 1...100 as ClosedRange<Int64> {
      table.settle(nowMilliseconds: second * 1_000 - 500)
      table.settle(nowMilliseconds: second * 1_000)
      let before = exchanges()
      #expect(table.take(own, byteCount: 1, nowMilliseconds: second * 1_000) == nil)
      #expect(exchanges() == before)
    }
  }

  @Test("loops that spend in parallel never exceed the quota together")
  func parallel() async throws {
    let limit = 4_000
    for _ in 0..<3 {
      let ledger = ledger(loops: 4) {
        $0.visitor = .init(messagesPerMinute: 1_000_000)
        $0.workspace = .init(messagesPerMinute: limit)
      }
      let count = await withTaskGroup(of: Int.self) { group in
        for loop in 0..<4 {
          group.addTask {
            var table = QuotaTable(ledger)
            var count = 0
            guard
              let own = table.slot(
                of: id(UInt64(loop)), address: 0, workspace: workspace, nowMilliseconds: 0)
            else { return 0 }
            for number in 0..<limit {
              if table.take(own, byteCount: 1, nowMilliseconds: 0) == nil { count += 1 }
              if number % 1_000 == 0 { table.settle(nowMilliseconds: 0) }
            }
            return count
          }
        }
        return await group.reduce(0, +)
      }
      #expect(count == limit)
    }
  }
}

/// Quotas of visitors, addresses and workspaces in a table of bounded size (issue 17.1).
import Synchronization
import Testing

@testable import Primitives

/// A ledger with a lock, as the gateway has one.
private final class Ledger: Sendable {
  private let value: Mutex<QuotaLedger>
  private let limits: QuotaTable.Configuration

  init(loops: Int, accountsMax: Int, _ limits: QuotaTable.Configuration) {
    value = Mutex(QuotaLedger(limits, loopCount: loops, accountsMax: accountsMax))
    self.limits = limits
  }

  var count: Int { value.withLock { $0.count } }
  var lendings: Int { value.withLock { $0.lendings } }

  var quotas: SharedQuotas { SharedQuotas(limits) { body in self.value.withLock { body(&$0) } } }

  /// The quotas of one loop. Tables of several loops are made of the same ledger.
  func table(entriesMax: Int = QuotaTable.entriesMaxDefault) -> QuotaTable {
    QuotaTable(quotas, entriesMax: entriesMax)
  }
}

@Suite struct QuotaTableTests {
  private func id(_ number: UInt64) -> Identifier {
    Identifier(high: 1 << 32 | number, low: number)
  }
  private let workspace = Identifier(high: 7 << 40, low: 7)

  private func table(
    entriesMax: Int = 100, _ change: (inout QuotaTable.Configuration) -> Void
  ) -> QuotaTable {
    ledger(loops: 1, change).table(entriesMax: entriesMax)
  }

  private func ledger(
    loops: Int, accountsMax: Int = 1_000, _ change: (inout QuotaTable.Configuration) -> Void
  ) -> Ledger {
    var limits = QuotaTable.Configuration()
    change(&limits)
    return Ledger(loops: loops, accountsMax: accountsMax, limits)
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
    var table = ledger.table(entriesMax: 20)
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

  @Test("changed limits apply to what was counted, and to entries without a limit before")
  func changed() throws {
    var limits = QuotaTable.Configuration()
    limits.visitor = .init(messagesPerMinute: 10)
    let ledger = Ledger(loops: 1, accountsMax: 100, limits)
    var table = ledger.table()
    func change(_ table: inout QuotaTable) {
      table.use(ledger.quotas.changed(to: limits), nowMilliseconds: 0)
    }
    let first = try slot(&table, 1, address: 1)
    for _ in 0..<6 { #expect(table.take(first, byteCount: 1, nowMilliseconds: 0) == nil) }
    limits.visitor = .init(messagesPerMinute: 8)
    limits.address = .init(messagesPerMinute: 1)
    change(&table)
    #expect(!table.isValid(first), "its address has a limit now")
    let second = try slot(&table, 1, address: 1)
    #expect(table.take(second, byteCount: 1, nowMilliseconds: 0) == nil)
    #expect(table.take(second, byteCount: 1, nowMilliseconds: 0)?.subject == .address)
    limits.address = .init()
    change(&table)
    let third = try slot(&table, 1, address: 1)
    #expect(table.take(third, byteCount: 1, nowMilliseconds: 0) == nil)
    #expect(table.take(third, byteCount: 1, nowMilliseconds: 0)?.subject == .visitor)
    // Eight are used: one is free after the window of the new limit, not after that of eight.
    limits.visitor = .init(messagesPerMinute: 1)
    change(&table)
    let fourth = try slot(&table, 1, address: 1)
    let refusal = table.take(fourth, byteCount: 1, nowMilliseconds: 0)
    #expect(refusal?.waitMilliseconds == 60_000)
    limits = QuotaTable.Configuration()
    change(&table)
    #expect(!table.isLimited)
  }

  @Test("a lower limit counts what two loops have sent, after both have taken it over")
  func lowered() throws {
    var limits = QuotaTable.Configuration()
    limits.visitor = .init(messagesPerMinute: 100)
    let ledger = Ledger(loops: 2, accountsMax: 100, limits)
    var tables = [ledger.table(), ledger.table()]
    for index in tables.indices {
      let slot = try slot(&tables[index], 1)
      for _ in 0..<20 { #expect(tables[index].take(slot, byteCount: 1, nowMilliseconds: 0) == nil) }
    }
    limits.visitor = .init(messagesPerMinute: 50)
    let quotas = ledger.quotas.changed(to: limits)
    for index in tables.indices { tables[index].use(quotas, nowMilliseconds: 0) }
    var accepted = 0
    for index in tables.indices {
      let slot = try slot(&tables[index], 1)
      for _ in 0..<50 where tables[index].take(slot, byteCount: 1, nowMilliseconds: 0) == nil {
        accepted += 1
      }
    }
    #expect(accepted == 10)
  }

  @Test("no limit: nothing is refused, and nothing is counted")
  func none() throws {
    let ledger = ledger(loops: 1) { _ in }
    var table = ledger.table()
    #expect(!table.isLimited)
    let slot = try slot(&table, 1, address: 1)
    for _ in 0..<100_000 {
      #expect(table.take(slot, byteCount: 1 << 20, nowMilliseconds: 0) == nil)
    }
    table.settle(nowMilliseconds: 0)
    #expect(ledger.count == 0)
  }

  @Test("the whole quota of a sender can be used over one of many loops", arguments: [1, 2, 64])
  func oneLoop(loops: Int) throws {
    let ledger = ledger(loops: loops) {
      $0.visitor = .init(messagesPerMinute: 1_000)
      $0.address = .init(messagesPerMinute: 900)
      $0.workspace = .init(messagesPerMinute: 800)
    }
    var tables = (0..<loops).map { _ in ledger.table() }
    let own = try slot(&tables[0], 1, address: 1)
    for _ in 0..<800 { #expect(tables[0].take(own, byteCount: 1, nowMilliseconds: 0) == nil) }
    #expect(tables[0].take(own, byteCount: 1, nowMilliseconds: 0)?.subject == .workspace)
    for loop in tables.indices {
      let own = try slot(&tables[loop], 2, address: 1)
      #expect(tables[loop].take(own, byteCount: 1, nowMilliseconds: 0)?.subject == .workspace)
    }
  }

  @Test("a sender on several loops has one quota: never more, and at least three quarters at once")
  func severalLoops() throws {
    let ledger = ledger(loops: 4) {
      $0.visitor = .init(messagesPerMinute: 1_000, kibibytesPerDay: 100_000)
    }
    var tables = (0..<4).map { _ in ledger.table() }
    func use(_ loop: Int, at now: Int64 = 0) throws -> Int {
      let own = try slot(&tables[loop], 1)
      var count = 0
      while tables[loop].take(own, byteCount: 1, nowMilliseconds: now) == nil { count += 1 }
      return count
    }
    // One message on each of three loops, which then hold an allowance.
    for loop in 0..<3 {
      let own = try slot(&tables[loop], 1)
      #expect(tables[loop].take(own, byteCount: 1, nowMilliseconds: 0) == nil)
    }
    let count = try 3 + use(3)
    #expect(750...1_000 ~= count)
    // The other three use their allowances up.
    #expect(try count + use(0) + use(1) + use(2) == 1_000)
  }

  @Test("the unused allowance of an idle loop comes back after 10 seconds, and not before")
  func idle() throws {
    let ledger = ledger(loops: 2) { $0.visitor = .init(messagesPerMinute: 1_000) }
    var (one, two) = (ledger.table(), ledger.table())
    let (own, other) = (try slot(&one, 1), try slot(&two, 1))
    #expect(one.take(own, byteCount: 1, nowMilliseconds: 100_000) == nil)
    // The sweep finds the message, so 10 seconds begin here.
    one.settle(nowMilliseconds: 100_500)
    func use(at now: Int64) -> Int {
      var count = 0
      while two.take(other, byteCount: 1, nowMilliseconds: now) == nil { count += 1 }
      two.settle(nowMilliseconds: now)
      return count
    }
    let idle = QuotaTable.idleMilliseconds
    #expect(idle == 10_000)
    one.settle(nowMilliseconds: 100_500 + idle - 1)
    let before = use(at: 100_500 + idle - 1)
    #expect(before == 1_000 - 64)
    one.settle(nowMilliseconds: 100_500 + idle)
    #expect(use(at: 100_500 + idle) == 64)
  }

  @Test("an allowance that is spent late counts from then on")
  func late() throws {
    let ledger = ledger(loops: 2) { $0.visitor = .init(messagesPerMinute: 600) }
    var (one, two) = (ledger.table(), ledger.table())
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
    var table = ledger.table()
    let own = try slot(&table, 1)
    for _ in 0..<6_400 { #expect(table.take(own, byteCount: 1, nowMilliseconds: 0) == nil) }
    #expect(ledger.lendings == 100)
    // 100 seconds with a message in each: the sweeps lend what the next message takes.
    for second in 1...100 as ClosedRange<Int64> {
      table.settle(nowMilliseconds: second * 1_000 - 500)
      table.settle(nowMilliseconds: second * 1_000)
      let before = ledger.lendings
      #expect(table.take(own, byteCount: 1, nowMilliseconds: second * 1_000) == nil)
      #expect(ledger.lendings == before)
    }
  }
}

/// Quotas of visitors, addresses and workspaces in a table of bounded size (issue 17.1).
import Primitives
import Testing

@Suite struct QuotaTableTests {
  private func id(_ number: UInt64) -> Identifier {
    Identifier(high: 1 << 32 | number, low: number)
  }
  private let workspace = Identifier(high: 7 << 40, low: 7)

  private func table(
    entriesMax: Int = 100, _ change: (inout QuotaTable.Configuration) -> Void
  ) -> QuotaTable {
    var limits = QuotaTable.Configuration()
    change(&limits)
    return QuotaTable(limits, entriesMax: entriesMax)
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

  @Test("the table is bounded: unused entries go first, and a freed slot is not valid any more")
  func bounded() throws {
    var table = table(entriesMax: 20) {
      $0.visitor = .init(messagesPerMinute: 60)
      $0.address = .init(messagesPerMinute: 60)
      $0.workspace = .init(messagesPerMinute: 1_000)
    }
    let idle = try slot(&table, 1, address: 1)
    let busy = try slot(&table, 2, address: 2)
    #expect(table.isValid(idle) && table.isValid(busy))
    for _ in 0..<60 { _ = table.take(busy, byteCount: 1, nowMilliseconds: 0) }
    for number in 3..<9 as Range<UInt64> {
      _ = try slot(&table, number, address: UInt32(number), at: 1_000)
    }
    _ = try slot(&table, 100, address: 100, at: 2_000)
    _ = try slot(&table, 101, address: 101, at: 2_000)
    #expect(!table.isValid(idle) && table.isValid(busy))
    #expect(table.take(busy, byteCount: 1, nowMilliseconds: 2_000) == nil)
    for number in 200..<2_000 as Range<UInt64> {
      let slot = try slot(&table, number, address: UInt32(number), at: 3_000)
      _ = table.take(slot, byteCount: 1, nowMilliseconds: 3_000)
      #expect(table.count <= 20)
    }
  }

  @Test("changed limits apply to what was counted, and to entries without a limit before")
  func changed() throws {
    var limits = QuotaTable.Configuration()
    limits.visitor = .init(messagesPerMinute: 10)
    var table = QuotaTable(limits)
    let first = try slot(&table, 1, address: 1)
    for _ in 0..<6 { #expect(table.take(first, byteCount: 1, nowMilliseconds: 0) == nil) }
    limits.visitor = .init(messagesPerMinute: 8)
    limits.address = .init(messagesPerMinute: 1)
    table.use(limits)
    #expect(!table.isValid(first), "its address has a limit now")
    let second = try slot(&table, 1, address: 1)
    #expect(table.take(second, byteCount: 1, nowMilliseconds: 0) == nil)
    #expect(table.take(second, byteCount: 1, nowMilliseconds: 0)?.subject == .address)
    limits.address = .init()
    table.use(limits)
    let third = try slot(&table, 1, address: 1)
    #expect(table.take(third, byteCount: 1, nowMilliseconds: 0) == nil)
    #expect(table.take(third, byteCount: 1, nowMilliseconds: 0)?.subject == .visitor)
    // Eight are used: one is free after the window of the new limit, not after that of eight.
    limits.visitor = .init(messagesPerMinute: 1)
    table.use(limits)
    let fourth = try slot(&table, 1, address: 1)
    let refusal = table.take(fourth, byteCount: 1, nowMilliseconds: 0)
    #expect(refusal?.waitMilliseconds == 60_000)
    table.use(QuotaTable.Configuration())
    #expect(!table.isLimited)
  }

  @Test("no limit: nothing is refused")
  func none() throws {
    var table = QuotaTable(QuotaTable.Configuration())
    #expect(!table.isLimited)
    let slot = try slot(&table, 1, address: 1)
    for _ in 0..<100_000 {
      #expect(table.take(slot, byteCount: 1 << 20, nowMilliseconds: 0) == nil)
    }
  }
}

/// The quotas of visitors' messages, as one loop counts them.
import Chat
import Primitives

struct VisitorQuotas {
  var table: QuotaTable

  init(_ shared: SharedQuotas) { table = QuotaTable(shared) }

  /// Takes over changed limits.
  mutating func use(_ shared: SharedQuotas, now: Instant) {
    table.use(shared, nowMilliseconds: now.nanoseconds / 1_000_000)
  }

  /// Finds or adds the entry of a visitor. Not on the path of a message.
  @inline(never)
  mutating func find(_ connection: inout Connection, _ milliseconds: Int64) -> Bool {
    guard let member = connection.member,
      let slot = table.slot(
        of: member.person.id, address: member.address, workspace: member.workspace,
        nowMilliseconds: milliseconds)
    else { return false }
    connection.rates.quota = slot
    return true
  }

  /// Reports the messages of visitors to the other loops, with each sweep.
  mutating func settle(now: Instant) { table.settle(nowMilliseconds: now.nanoseconds / 1_000_000) }
}

/// The quotas of visitors' messages, as one loop counts them.
import Chat
import Primitives

struct VisitorQuotas {
  private var table: QuotaTable

  init(_ shared: SharedQuotas) { table = QuotaTable(shared) }

  var isLimited: Bool { table.isLimited }
  /// The ledger of all loops and its limits.
  var shared: SharedQuotas { table.shared }

  /// Takes over changed limits.
  mutating func use(_ shared: SharedQuotas, now: Instant) {
    table.use(shared, nowMilliseconds: now.nanoseconds / 1_000_000)
  }

  /// Counts a message, unless that exceeds a quota: then the milliseconds to wait, and the reason.
  mutating func count(
    _ connection: inout Connection, byteCount: Int, now: Instant
  ) -> (milliseconds: Int64, sentence: StaticString?)? {
    let milliseconds = now.nanoseconds / 1_000_000
    if !table.isValid(connection.rates.quota), !find(&connection, milliseconds) {
      return (1_000, nil)
    }
    let refusal = table.take(
      connection.rates.quota, byteCount: byteCount, nowMilliseconds: milliseconds)
    return refusal.map { ($0.waitMilliseconds, $0.sentence) }
  }

  /// Not inlined, to keep the lookup out of the path of messages.
  @inline(never)
  private mutating func find(_ connection: inout Connection, _ milliseconds: Int64) -> Bool {
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

/// The used and the lent part of one limit of a sender.
struct QuotaBucket: Sendable {
  /// The used amount times the window, so that each millisecond gives `amount` of it back.
  private var used: Int64 = 0
  private var at: Int64 = 0
  /// It is given back only after it was spent: a loop may spend it at any time.
  private var lent: Int64 = 0

  /// The milliseconds until so much may be lent; 0: now.
  mutating func wait(_ amount: Int64, _ limit: QuotaTable.Limit, _ now: Int64) -> Int64 {
    guard limit.amount > 0 else { return 0 }
    giveBack(limit, now)
    let missing = used - (limit.amount - lent - amount) * limit.windowMilliseconds
    return missing <= 0 ? 0 : (missing + limit.amount - 1) / limit.amount
  }

  /// Lends a share of the rest, at most `most`, but at least the need, which `wait` has allowed.
  mutating func lend(
    _ need: Int64, most: Int64, _ shares: Int64, _ limit: QuotaTable.Limit
  ) -> Int64 {
    guard limit.amount > 0 else { return QuotaAllowance.unlimited }
    let usedUp = (used + limit.windowMilliseconds - 1) / limit.windowMilliseconds
    let rest = limit.amount - lent - usedUp
    let amount = max(need, min(rest / shares, most))
    lent += amount
    return amount
  }

  mutating func settle(
    _ spent: Int64, _ returned: Int64, _ limit: QuotaTable.Limit, _ now: Int64
  ) {
    guard limit.amount > 0 else { return }
    giveBack(limit, now)
    // A full ledger may have forgotten that this was lent.
    lent = max(0, lent - spent - returned)
    used = min(used + spent * limit.windowMilliseconds, limit.amount * limit.windowMilliseconds)
  }

  /// After a change of the limit: no more is used than it allows, and without one nothing is lent.
  mutating func cut(to limit: QuotaTable.Limit) {
    used = min(used, limit.amount * limit.windowMilliseconds)
    if limit.amount == 0 { lent = 0 }
  }

  mutating func isUnused(_ limit: QuotaTable.Limit, _ now: Int64) -> Bool {
    giveBack(limit, now)
    return used == 0 && lent == 0
  }

  private mutating func giveBack(_ limit: QuotaTable.Limit, _ now: Int64) {
    let elapsed = now - at
    guard elapsed > 0 else { return }
    at = now
    used = elapsed >= limit.windowMilliseconds ? 0 : max(0, used - elapsed * limit.amount)
  }
}

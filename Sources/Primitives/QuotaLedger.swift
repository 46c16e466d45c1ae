import Synchronization

/// The quotas of visitors over all loops of a process. A loop borrows an allowance for each of its
/// senders, spends it without a lock, and reports the expense later (`QuotaTable`).
///
/// Invariant: of each account, what is used and what is lent are together at most the limit. So the
/// loops never exceed it, however late they report. A sender gets less by the allowances that other
/// loops hold for it: each at most a quarter of the rest of the limit, divided by the loops.
public final class QuotaLedger: Sendable {
  public let limits: QuotaTable.Configuration
  private let accounts: Mutex<QuotaAccounts>

  public init(
    _ limits: QuotaTable.Configuration, loopCount: Int,
    accountsMax: Int = QuotaTable.entriesMaxDefault
  ) {
    self.limits = limits
    accounts = Mutex(
      QuotaAccounts(limits: limits, loopCount: loopCount, accountsMax: accountsMax))
  }

  /// Whether there is any limit.
  public var isLimited: Bool { !limits.isNone }
  /// Accounts in memory.
  public var count: Int { accounts.withLock { $0.count } }

  func withAccounts<Result>(_ body: (inout QuotaAccounts) -> Result) -> Result {
    accounts.withLock { body(&$0) }
  }
}

/// Messages and KiB that a loop may count.
struct QuotaAllowance: Sendable, Equatable {
  var messages: Int64
  var kibibytes: Int64

  static var none: QuotaAllowance { QuotaAllowance(messages: 0, kibibytes: 0) }
  /// The smallest message.
  static var oneMessage: QuotaAllowance { QuotaAllowance(messages: 1, kibibytes: 1) }
  /// Held where there is no limit; never used up.
  static var unlimited: Int64 { .max / 4 }
  static var endless: QuotaAllowance {
    QuotaAllowance(messages: unlimited, kibibytes: unlimited)
  }

  func covers(_ need: QuotaAllowance) -> Bool {
    messages >= need.messages && kibibytes >= need.kibibytes
  }

  func limited(to most: QuotaAllowance) -> QuotaAllowance {
    QuotaAllowance(
      messages: min(messages, most.messages), kibibytes: min(kibibytes, most.kibibytes))
  }

  /// More than the whole limit is counted as the limit.
  func limited(by limits: QuotaTable.Limits) -> QuotaAllowance {
    limited(
      to: QuotaAllowance(
        messages: limits.messages.amount == 0 ? .max : limits.messages.amount,
        kibibytes: limits.kibibytes.amount == 0 ? .max : limits.kibibytes.amount))
  }

  static func += (sum: inout QuotaAllowance, part: QuotaAllowance) {
    sum.messages += part.messages
    sum.kibibytes += part.kibibytes
  }

  static func -= (rest: inout QuotaAllowance, part: QuotaAllowance) {
    rest.messages -= part.messages
    rest.kibibytes -= part.kibibytes
  }
}

/// The accounts of a `QuotaLedger`. One is freed when nothing is used or lent; a full table frees
/// others too, visitors first: a flood costs precision, never memory.
struct QuotaAccounts: Sendable {
  struct Shortage: Error, Sendable {
    var isOfBytes: Bool
    /// Milliseconds until the need is covered, if nobody else uses more.
    var wait: Int64
  }

  private struct Account {
    var key = Identifier.zero
    var isOpen = false
    var subject = QuotaTable.Subject.visitor
    var messages = QuotaBucket()
    var kibibytes = QuotaBucket()
  }

  /// The largest allowances, so that little is out of reach of other loops.
  private static var lentMost: QuotaAllowance { QuotaAllowance(messages: 64, kibibytes: 1_024) }
  /// Accounts that a full table looks at for a visitor to free.
  private static var looksMax: Int { 64 }

  private let limits: QuotaTable.Configuration
  /// An allowance is the rest of the limit divided by this.
  private let shares: Int64
  private let accountsMax: Int
  private var accounts: [Account] = []
  private var free: [Int32] = []
  private var indexByKey: [Identifier: Int32] = [:]
  private var hand = 0
  private var sweptAt = Int64.min
  /// Allowances lent since the start.
  private(set) var lendings = 0

  init(limits: QuotaTable.Configuration, loopCount: Int, accountsMax: Int) {
    self.limits = limits
    self.accountsMax = accountsMax
    shares = 4 * Int64(loopCount)
  }

  var count: Int { accounts.count - free.count }

  /// Lends at least what is needed, or nothing.
  mutating func borrow(
    _ key: Identifier, _ subject: QuotaTable.Subject, _ need: QuotaAllowance,
    nowMilliseconds now: Int64
  ) -> Result<QuotaAllowance, Shortage> {
    let limits = limits[subject]
    let index = Int(indexByKey[key] ?? open(key, subject, now))
    var wait = accounts[index].messages.wait(need.messages, limits.messages, now)
    if wait > 0 { return .failure(Shortage(isOfBytes: false, wait: wait)) }
    wait = accounts[index].kibibytes.wait(need.kibibytes, limits.kibibytes, now)
    if wait > 0 { return .failure(Shortage(isOfBytes: true, wait: wait)) }
    lendings += 1
    let most = QuotaAccounts.lentMost
    return .success(
      QuotaAllowance(
        messages: accounts[index].messages.lend(
          need.messages, most: most.messages, shares, limits.messages),
        kibibytes: accounts[index].kibibytes.lend(
          need.kibibytes, most: most.kibibytes, shares, limits.kibibytes)))
  }

  /// Counts what a loop has spent of its allowance, and takes the rest back.
  mutating func settle(
    _ key: Identifier, _ subject: QuotaTable.Subject, spent: QuotaAllowance,
    returned: QuotaAllowance, nowMilliseconds now: Int64
  ) {
    guard spent != .none || returned != .none else { return }
    let limits = limits[subject]
    let index = Int(indexByKey[key] ?? open(key, subject, now))
    accounts[index].messages.settle(spent.messages, returned.messages, limits.messages, now)
    accounts[index].kibibytes.settle(spent.kibibytes, returned.kibibytes, limits.kibibytes, now)
  }

  private mutating func open(
    _ key: Identifier, _ subject: QuotaTable.Subject, _ now: Int64
  ) -> Int32 {
    if count >= accountsMax { makeRoom(now) }
    let index: Int32
    if let freed = free.popLast() {
      index = freed
    } else {
      index = Int32(accounts.count)
      accounts.append(Account())
    }
    accounts[Int(index)] = Account(key: key, isOpen: true, subject: subject)
    indexByKey[key] = index
    return index
  }

  /// Frees the unused accounts, at most once a second, and if there are none, another one.
  private mutating func makeRoom(_ now: Int64) {
    if now / 1_000 != sweptAt / 1_000 {
      sweptAt = now
      for index in accounts.indices where accounts[index].isOpen && isUnused(index, now) {
        close(index)
      }
      if count < accountsMax { return }
    }
    for _ in 0..<QuotaAccounts.looksMax {
      hand = (hand + 1) % accounts.count
      if accounts[hand].subject == .visitor { break }
    }
    close(hand)
  }

  private mutating func isUnused(_ index: Int, _ now: Int64) -> Bool {
    let limits = limits[accounts[index].subject]
    return accounts[index].messages.isUnused(limits.messages, now)
      && accounts[index].kibibytes.isUnused(limits.kibibytes, now)
  }

  private mutating func close(_ index: Int) {
    indexByKey[accounts[index].key] = nil
    accounts[index] = Account()
    free.append(Int32(index))
  }
}

/// The used and the lent part of one limit.
private struct QuotaBucket: Sendable {
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

  /// Lends a share of the rest, at most `most`, but at least what is needed, which `wait` has found.
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
    // A full table may have forgotten that this was lent.
    lent = max(0, lent - spent - returned)
    used = min(used + spent * limit.windowMilliseconds, limit.amount * limit.windowMilliseconds)
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

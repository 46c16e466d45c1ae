/// The quotas of visitors over all loops of a process. A loop borrows an allowance for each of its
/// senders, spends it without a lock, and reports the expense later (`QuotaTable`).
///
/// Invariant: of each account, the used and the lent amount are together at most the limit. So the
/// loops never exceed it, however late they report. A sender gets less by the allowances that other
/// loops hold for it: each at most a quarter of the rest of the limit, divided by the loops.
///
/// An account is freed when nothing is used or lent. A full ledger frees others too, visitors
/// first: a flood costs precision, never memory.
public struct QuotaLedger: Sendable {
  struct Shortage: Error, Sendable {
    var isOfBytes: Bool
    /// Milliseconds until the need is covered, if nobody else uses more.
    var wait: Int64
  }

  private struct Account {
    var key = Identifier.zero
    var subject = QuotaTable.Subject.visitor
    var messages = QuotaBucket()
    var kibibytes = QuotaBucket()
  }

  /// The largest allowances, so that little is out of reach of other loops.
  private static var lentMost: QuotaAllowance { QuotaAllowance(messages: 64, kibibytes: 1_024) }
  /// Accounts that a full ledger looks at to find an unused one.
  private static var looksMax: Int { 64 }

  private var limits: QuotaTable.Configuration
  /// An allowance is the rest of the limit divided by this.
  private let shares: Int64
  private let accountsMax: Int
  private var accounts: [Account] = []
  private var free: [Int32] = []
  private var indexByKey: [Identifier: Int32] = [:]
  private var hand = 0
  /// Allowances lent since the start.
  private(set) var lendings = 0

  public init(_ limits: QuotaTable.Configuration, loopCount: Int, accountsMax: Int) {
    self.limits = limits
    self.accountsMax = accountsMax
    shares = 4 * Int64(loopCount)
  }

  /// Changes the limits; what is used remains used. Until each loop has returned what it holds of
  /// a limit that became smaller, the sum may exceed it.
  mutating func use(_ new: QuotaTable.Configuration) {
    limits = new
    for index in accounts.indices {
      let limits = new[accounts[index].subject]
      accounts[index].messages.cut(to: limits.messages)
      accounts[index].kibibytes.cut(to: limits.kibibytes)
    }
  }

  /// Accounts in memory.
  public var count: Int { accounts.count - free.count }

  /// Counts the part of an allowance that a loop has spent, takes the rest back, and lends at least
  /// the need, or nothing.
  ///
  /// - Parameter account: the account's position at the last exchange, or -1. It saves the lookup.
  mutating func exchange(
    _ account: inout Int32, of key: Identifier, _ subject: QuotaTable.Subject,
    spent: QuotaAllowance, returned: QuotaAllowance, need: QuotaAllowance,
    nowMilliseconds now: Int64
  ) -> Result<QuotaAllowance, Shortage> {
    if !accounts.indices.contains(Int(account)) || accounts[Int(account)].key != key {
      account = indexByKey[key] ?? open(key, subject, now)
    }
    let (index, limits) = (Int(account), limits[subject])
    accounts[index].messages.settle(spent.messages, returned.messages, limits.messages, now)
    accounts[index].kibibytes.settle(spent.kibibytes, returned.kibibytes, limits.kibibytes, now)
    guard need != .none else { return .success(.none) }
    var wait = accounts[index].messages.wait(need.messages, limits.messages, now)
    if wait > 0 { return .failure(Shortage(isOfBytes: false, wait: wait)) }
    wait = accounts[index].kibibytes.wait(need.kibibytes, limits.kibibytes, now)
    if wait > 0 { return .failure(Shortage(isOfBytes: true, wait: wait)) }
    lendings += 1
    let most = QuotaLedger.lentMost
    return .success(
      QuotaAllowance(
        messages: accounts[index].messages.lend(
          need.messages, most: most.messages, shares, limits.messages),
        kibibytes: accounts[index].kibibytes.lend(
          need.kibibytes, most: most.kibibytes, shares, limits.kibibytes)))
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
    accounts[Int(index)] = Account(key: key, subject: subject)
    indexByKey[key] = index
    return index
  }

  /// Frees an unused account among the next ones, or else a visitor.
  private mutating func makeRoom(_ now: Int64) {
    var freed: Int?
    for _ in 0..<QuotaLedger.looksMax {
      hand = (hand + 1) % accounts.count
      if isUnused(hand, now) {
        freed = hand
        break
      }
      if freed == nil, accounts[hand].subject == .visitor { freed = hand }
    }
    close(freed ?? hand)
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

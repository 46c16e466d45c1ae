/// Quotas of visitors: messages a minute and stored bytes a day, of one visitor, of one address and
/// of one workspace, as one loop spends them. `QuotaLedger` counts for all loops.
///
/// A visitor is looked up once for each connection, which keeps the `Slot`. A message is taken from
/// the allowances that the loop has borrowed: no lookup, no lock, no allocation. Only a sender
/// without an allowance, or with one that is used up, needs the ledger before the next `settle`.
public struct QuotaTable: Sendable {
  /// The amount in a window, and as much at once. 0: no limit.
  public struct Limit: Sendable, Equatable {
    public var amount: Int64
    public var windowMilliseconds: Int64

    public init(_ amount: Int, windowMilliseconds: Int64) {
      self.amount = Int64(amount)
      self.windowMilliseconds = windowMilliseconds
    }
  }

  /// The limits of one visitor, address or workspace.
  public struct Limits: Sendable, Equatable {
    public var messages: Limit
    public var kibibytes: Limit

    /// - Parameters:
    ///   - messagesPerMinute: 0: no limit.
    ///   - kibibytesPerDay: of bodies and payloads; a message counts at least one. 0: no limit.
    public init(messagesPerMinute: Int = 0, kibibytesPerDay: Int = 0) {
      messages = Limit(messagesPerMinute, windowMilliseconds: 60_000)
      kibibytes = Limit(kibibytesPerDay, windowMilliseconds: 86_400_000)
    }

    var isNone: Bool { messages.amount == 0 && kibibytes.amount == 0 }
  }

  public struct Configuration: Sendable, Equatable {
    public var visitor: Limits
    public var address: Limits
    public var workspace: Limits

    public init() {
      visitor = Limits()
      address = Limits()
      workspace = Limits()
    }

    subscript(_ subject: Subject) -> Limits {
      switch subject {
      case .visitor: visitor
      case .address: address
      case .workspace: workspace
      }
    }

    var isNone: Bool { visitor.isNone && address.isNone && workspace.isNone }
  }

  public enum Subject: Sendable, Equatable { case visitor, address, workspace }

  public struct Refusal: Sendable, Equatable {
    public var subject: Subject
    public var isOfBytes: Bool
    public var waitMilliseconds: Int64
  }

  /// The entry of a visitor. It becomes invalid when the entry is freed.
  public struct Slot: Sendable {
    fileprivate var index: Int32
    fileprivate var generation: UInt32

    /// No entry.
    public init() {
      index = .max
      generation = 0
    }
  }

  private struct Entry {
    var key = Identifier.zero
    var generation: UInt32 = 0
    var isUsed = false
    var subject = Subject.visitor
    /// Borrowed and not spent.
    var held = QuotaAllowance.none
    /// Spent and not reported to the ledger.
    var spent = QuotaAllowance.none
    var isBorrower = false
    /// Its position in the ledger, or -1.
    var account: Int32 = -1
    /// The last `settle` or loan that found a message, in milliseconds.
    var busyAt: Int64 = 0
    /// Of a visitor: the entries of the address and the workspace, or -1.
    var address: Int32 = -1
    var workspace: Int32 = -1
    /// Of an address or a workspace: the visitors that refer to it.
    var users: Int32 = 0
  }

  /// Entries of one table: about 100 bytes each.
  public static var entriesMaxDefault: Int { 65_536 }
  /// After this time without a message of its sender, `settle` returns an allowance.
  public static var idleMilliseconds: Int64 { 10_000 }
  /// Entries that are settled under one lock.
  private static var settledAtOnce: Int { 1_024 }

  public private(set) var shared: SharedQuotas
  private let entriesMax: Int
  private var entries: [Entry] = []
  private var free: [Int32] = []
  private var indexByKey: [Identifier: Int32] = [:]
  /// The entries with an allowance or an unreported expense, each once.
  private var borrowers: [Int32] = []
  private var hand = 0

  public init(_ shared: SharedQuotas, entriesMax: Int = QuotaTable.entriesMaxDefault) {
    self.shared = shared
    self.entriesMax = entriesMax
    isLimited = !shared.limits.isNone
  }

  /// Takes over changed limits. What is used remains used, and what is held is returned. Each
  /// connection looks its entry up again, since an address or a workspace may have a limit now.
  public mutating func use(_ new: SharedQuotas, nowMilliseconds now: Int64) {
    let old = shared
    old.exclusively { ledger in
      for index in entries.indices where entries[index].isUsed {
        _ = exchange(Int32(index), .none, &ledger, now)
      }
    }
    shared = new
    isLimited = !new.limits.isNone
    for index in entries.indices where entries[index].isUsed {
      let subject = entries[index].subject
      entries[index].spent = .none
      entries[index].held = new.limits[subject].isNone ? .endless : .none
      if subject == .visitor { entries[index].generation &+= 1 }
    }
  }

  /// Whether there is any limit.
  public private(set) var isLimited: Bool
  public var count: Int { entries.count - free.count }

  public func isValid(_ slot: Slot) -> Bool {
    slot.index < entries.count && entries[Int(slot.index)].generation == slot.generation
  }

  /// Finds or adds the entry of a visitor. Not on the path of a message.
  ///
  /// - Parameter address: a digest of the address; 0: it has no limit.
  /// - Returns: nil if the table is full of addresses and workspaces.
  @inline(never)
  public mutating func slot(
    of visitor: Identifier, address: UInt32, workspace: Identifier, nowMilliseconds now: Int64
  ) -> Slot? {
    // An entry needs up to two others.
    makeRoom(now)
    guard count + 3 <= entriesMax else { return nil }
    let index = indexByKey[visitor] ?? insert(visitor, .visitor)
    // No identifier of PostgreSQL begins with eight bytes of zeros.
    let addressKey = address == 0 ? nil : Identifier(high: 0, low: UInt64(address))
    // The visitor may have come from another address before.
    leave(entries[Int(index)].address)
    let addressIndex = refer(to: addressKey, .address)
    entries[Int(index)].address = addressIndex
    leave(entries[Int(index)].workspace)
    let workspaceIndex = refer(to: workspace, .workspace)
    entries[Int(index)].workspace = workspaceIndex
    var slot = Slot()
    slot.index = index
    slot.generation = entries[Int(index)].generation
    return slot
  }

  /// Counts a message of a visitor, unless a limit is exceeded. A refused message counts nowhere.
  public mutating func take(
    _ slot: Slot, byteCount: Int, nowMilliseconds now: Int64
  ) -> Refusal? {
    let need = QuotaAllowance(
      messages: 1, kibibytes: Int64(max(1, (byteCount + 1_023) / 1_024)))
    let visitor = slot.index
    let (address, workspace) = (
      entries[Int(visitor)].address, entries[Int(visitor)].workspace
    )
    if !(holds(visitor, need) && holds(address, need) && holds(workspace, need)),
      let refusal = borrow(visitor, address, workspace, need, now)
    {
      return refusal
    }
    spend(visitor, need)
    spend(address, need)
    spend(workspace, need)
    return nil
  }

  private func holds(_ index: Int32, _ need: QuotaAllowance) -> Bool {
    index < 0 || entries[Int(index)].held.covers(need)
  }

  private mutating func spend(_ index: Int32, _ need: QuotaAllowance) {
    guard index >= 0 else { return }
    // Of a message above the whole limit only the limit is held.
    let part = need.limited(to: entries[Int(index)].held)
    entries[Int(index)].held -= part
    entries[Int(index)].spent += part
  }

  // MARK: The ledger

  /// Borrows for a message what is not held, under one lock.
  @inline(never)
  private mutating func borrow(
    _ visitor: Int32, _ address: Int32, _ workspace: Int32, _ need: QuotaAllowance, _ now: Int64
  ) -> Refusal? {
    let shared = shared
    var refusal: Refusal?
    shared.exclusively { ledger in
      refusal =
        borrow(visitor, need, &ledger, now) ?? borrow(address, need, &ledger, now)
        ?? borrow(workspace, need, &ledger, now)
    }
    return refusal
  }

  private mutating func borrow(
    _ index: Int32, _ need: QuotaAllowance, _ ledger: inout QuotaLedger, _ now: Int64
  ) -> Refusal? {
    guard index >= 0 else { return nil }
    let subject = entries[Int(index)].subject
    let need = need.limited(by: shared.limits[subject])
    guard !holds(index, need) else { return nil }
    entries[Int(index)].busyAt = now
    list(index)
    return exchange(index, need, &ledger, now).map {
      Refusal(subject: subject, isOfBytes: $0.isOfBytes, waitMilliseconds: $0.wait)
    }
  }

  /// Reports expenses, returns what an entry holds, and borrows what is needed.
  private mutating func exchange(
    _ index: Int32, _ need: QuotaAllowance, _ ledger: inout QuotaLedger, _ now: Int64
  ) -> QuotaLedger.Shortage? {
    let entry = entries[Int(index)]
    guard !shared.limits[entry.subject].isNone,
      need != .none || entry.spent != .none || entry.held != .none
    else { return nil }
    let answer = ledger.exchange(
      &entries[Int(index)].account, of: entry.key, entry.subject, spent: entry.spent,
      returned: entry.held, need: need, nowMilliseconds: now)
    entries[Int(index)].spent = .none
    entries[Int(index)].held = .none
    switch answer {
    case .success(let allowance):
      entries[Int(index)].held = allowance
      return nil
    case .failure(let shortage): return shortage
    }
  }

  private mutating func list(_ index: Int32) {
    guard !entries[Int(index)].isBorrower else { return }
    entries[Int(index)].isBorrower = true
    borrowers.append(index)
  }

  /// Reports the expenses of all senders, with a few locks, and lends them the next allowance.
  /// Returns allowances that are unused for `idleMilliseconds`. Call it with each sweep.
  public mutating func settle(nowMilliseconds now: Int64) {
    guard !borrowers.isEmpty else { return }
    let shared = shared
    let all = borrowers
    borrowers = []
    var rest = all[...]
    while !rest.isEmpty {
      let part = rest.prefix(QuotaTable.settledAtOnce)
      rest = rest.dropFirst(part.count)
      shared.exclusively { ledger in
        for index in part where isListed(index, &ledger, now) { borrowers.append(index) }
      }
    }
  }

  /// Settles one entry, and says whether it stays among the borrowers.
  private mutating func isListed(
    _ index: Int32, _ ledger: inout QuotaLedger, _ now: Int64
  ) -> Bool {
    let entry = entries[Int(index)]
    let isIdle = entry.spent == .none
    if isIdle, entry.isUsed, now - entry.busyAt < QuotaTable.idleMilliseconds { return true }
    entries[Int(index)].busyAt = now
    // Without success the entry holds nothing, and the next message asks again.
    guard entry.isUsed,
      exchange(index, isIdle ? .none : .oneMessage, &ledger, now) == nil, !isIdle
    else {
      entries[Int(index)].isBorrower = false
      return false
    }
    return true
  }

  // MARK: Entries

  private mutating func insert(_ key: Identifier, _ subject: Subject) -> Int32 {
    let index: Int32
    if let freed = free.popLast() {
      index = freed
    } else {
      index = Int32(entries.count)
      entries.append(Entry())
    }
    let old = entries[Int(index)]
    entries[Int(index)] = Entry(
      key: key, generation: old.generation, isUsed: true, subject: subject,
      held: shared.limits[subject].isNone ? .endless : .none, isBorrower: old.isBorrower)
    indexByKey[key] = index
    return index
  }

  /// The entry of an address or a workspace for one more visitor; -1 if it has no limit.
  private mutating func refer(to key: Identifier?, _ subject: Subject) -> Int32 {
    guard let key, !shared.limits[subject].isNone else { return -1 }
    let index = indexByKey[key] ?? insert(key, subject)
    entries[Int(index)].users += 1
    return index
  }

  private mutating func leave(_ index: Int32) {
    if index >= 0 { entries[Int(index)].users -= 1 }
  }

  /// Frees visitors, and addresses and workspaces without visitors, until there is room for three
  /// entries. Nothing is lost: the ledger has their counts.
  private mutating func makeRoom(_ now: Int64) {
    guard count + 3 > entriesMax else { return }
    let shared = shared
    shared.exclusively { ledger in
      for _ in entries.indices {
        hand = (hand + 1) % entries.count
        guard entries[hand].isUsed, entries[hand].subject == .visitor || entries[hand].users == 0
        else { continue }
        _ = exchange(Int32(hand), .none, &ledger, now)
        remove(Int32(hand))
        if count + 3 <= entriesMax { return }
      }
    }
  }

  private mutating func remove(_ index: Int32) {
    let entry = entries[Int(index)]
    leave(entry.address)
    leave(entry.workspace)
    indexByKey[entry.key] = nil
    // `borrowers` has the index until the next `settle`.
    entries[Int(index)] = Entry(
      generation: entry.generation &+ 1, isBorrower: entry.isBorrower)
    free.append(index)
  }
}

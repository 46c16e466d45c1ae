/// Quotas of visitors: messages a minute and stored bytes a day, of one visitor, of one address and
/// of one workspace. One loop has one table, so it takes no lock.
///
/// A visitor is looked up once for each connection, which keeps the `Slot`; counting a message
/// needs neither a lookup nor an allocation. An entry is freed when nothing is counted in it any
/// more. A full table frees visitors whose quota is used: a flood costs precision, never memory.
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

    var isAny: Bool { !(visitor.isNone && address.isNone && workspace.isNone) }
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
    var isVisitor = false
    var messages = QuotaBucket()
    var kibibytes = QuotaBucket()
    /// Of a visitor: the entries of the address and the workspace, or -1.
    var address: Int32 = -1
    var workspace: Int32 = -1
    /// Of an address or a workspace: the visitors that refer to it.
    var users: Int32 = 0
  }

  /// Entries of one table: about 100 bytes each.
  public static var entriesMaxDefault: Int { 65_536 }

  public private(set) var limits: Configuration
  private let entriesMax: Int
  private var entries: [Entry] = []
  private var free: [Int32] = []
  private var indexByKey: [Identifier: Int32] = [:]
  private var hand = 0
  private var sweptAt = Int64.min

  public init(_ limits: Configuration, entriesMax: Int = QuotaTable.entriesMaxDefault) {
    self.limits = limits
    self.entriesMax = entriesMax
    isLimited = limits.isAny
  }

  /// Changes the limits; what is used remains used. Each connection looks its entry up again, since
  /// an address or a workspace may have a limit now.
  public mutating func use(_ limits: Configuration) {
    guard limits != self.limits else { return }
    self.limits = limits
    isLimited = limits.isAny
    for index in entries.indices {
      if entries[index].isVisitor { entries[index].generation &+= 1 }
      let own = limitsOf(index)
      entries[index].messages.cut(to: own.messages)
      entries[index].kibibytes.cut(to: own.kibibytes)
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
    if count + 3 > entriesMax { makeRoom(now) }
    guard count + 3 <= entriesMax else { return nil }
    let index = indexByKey[visitor] ?? insert(visitor, isVisitor: true)
    // No identifier of PostgreSQL begins with eight bytes of zeros.
    let addressKey = address == 0 ? nil : Identifier(high: 0, low: UInt64(address))
    // The visitor may have come from another address before.
    leave(entries[Int(index)].address)
    let addressIndex = refer(to: addressKey, limits.address)
    entries[Int(index)].address = addressIndex
    leave(entries[Int(index)].workspace)
    let workspaceIndex = refer(to: workspace, limits.workspace)
    entries[Int(index)].workspace = workspaceIndex
    var slot = Slot()
    slot.index = index
    slot.generation = entries[Int(index)].generation
    return slot
  }

  /// Counts a message of a visitor, unless a limit is exceeded.
  public mutating func take(
    _ slot: Slot, byteCount: Int, nowMilliseconds now: Int64
  ) -> Refusal? {
    let amount = Int64(max(1, (byteCount + 1_023) / 1_024))
    let visitor = slot.index
    let (address, workspace) = (
      entries[Int(visitor)].address, entries[Int(visitor)].workspace
    )
    if let refusal = refusal(visitor, .visitor, limits.visitor, amount, now)
      ?? refusal(address, .address, limits.address, amount, now)
      ?? refusal(workspace, .workspace, limits.workspace, amount, now)
    {
      return refusal
    }
    count(visitor, limits.visitor, amount)
    count(address, limits.address, amount)
    count(workspace, limits.workspace, amount)
    return nil
  }

  private mutating func refusal(
    _ index: Int32, _ subject: Subject, _ limits: Limits, _ amount: Int64, _ now: Int64
  ) -> Refusal? {
    guard index >= 0 else { return nil }
    var wait = entries[Int(index)].messages.wait(1, limits.messages, now)
    if wait > 0 { return Refusal(subject: subject, isOfBytes: false, waitMilliseconds: wait) }
    wait = entries[Int(index)].kibibytes.wait(amount, limits.kibibytes, now)
    if wait > 0 { return Refusal(subject: subject, isOfBytes: true, waitMilliseconds: wait) }
    return nil
  }

  private mutating func count(_ index: Int32, _ limits: Limits, _ amount: Int64) {
    guard index >= 0 else { return }
    entries[Int(index)].messages.take(1, limits.messages)
    entries[Int(index)].kibibytes.take(amount, limits.kibibytes)
  }

  // MARK: Entries

  private mutating func insert(_ key: Identifier, isVisitor: Bool) -> Int32 {
    let index: Int32
    if let freed = free.popLast() {
      index = freed
    } else {
      index = Int32(entries.count)
      entries.append(Entry())
    }
    let generation = entries[Int(index)].generation
    entries[Int(index)] = Entry(
      key: key, generation: generation, isUsed: true, isVisitor: isVisitor)
    indexByKey[key] = index
    return index
  }

  /// The entry of an address or a workspace for one more visitor; -1 if it has no limit.
  private mutating func refer(to key: Identifier?, _ limits: Limits) -> Int32 {
    guard let key, !limits.isNone else { return -1 }
    let index = indexByKey[key] ?? insert(key, isVisitor: false)
    entries[Int(index)].users += 1
    return index
  }

  private mutating func leave(_ index: Int32) {
    if index >= 0 { entries[Int(index)].users -= 1 }
  }

  private mutating func remove(_ index: Int32) {
    let entry = entries[Int(index)]
    leave(entry.address)
    leave(entry.workspace)
    indexByKey[entry.key] = nil
    entries[Int(index)] = Entry(generation: entry.generation &+ 1)
    free.append(index)
  }

  /// Frees the entries in which nothing is counted, at most once a second, and if there are none,
  /// one visitor.
  private mutating func makeRoom(_ now: Int64) {
    if now / 1_000 != sweptAt / 1_000 {
      sweptAt = now
      for isVisitor in [true, false] {
        for index in entries.indices
        where entries[index].isUsed && entries[index].isVisitor == isVisitor
          && entries[index].users == 0 && isUnused(index, now)
        {
          remove(Int32(index))
        }
      }
    }
    guard count + 3 > entriesMax, !entries.isEmpty else { return }
    for _ in entries.indices {
      hand = (hand + 1) % entries.count
      guard entries[hand].isUsed, entries[hand].isVisitor || entries[hand].users == 0 else {
        continue
      }
      remove(Int32(hand))
      if count + 3 <= entriesMax { return }
    }
  }

  private func limitsOf(_ index: Int) -> Limits {
    if entries[index].isVisitor { return limits.visitor }
    return entries[index].key.high == 0 ? limits.address : limits.workspace
  }

  private mutating func isUnused(_ index: Int, _ now: Int64) -> Bool {
    let limits = limitsOf(index)
    return entries[index].messages.isUnused(limits.messages, now)
      && entries[index].kibibytes.isUnused(limits.kibibytes, now)
  }
}

/// The used part of one limit. It takes 16 bytes.
private struct QuotaBucket: Sendable {
  /// The used amount times the window, so that each millisecond gives `amount` of it back.
  private var used: Int64 = 0
  private var at: Int64 = 0

  /// The milliseconds until so much may be used; 0: now. An amount above the whole limit needs an
  /// unused one.
  mutating func wait(_ amount: Int64, _ limit: QuotaTable.Limit, _ now: Int64) -> Int64 {
    guard limit.amount > 0 else { return 0 }
    giveBack(limit, now)
    let missing =
      min(amount, limit.amount) * limit.windowMilliseconds
      - (limit.amount * limit.windowMilliseconds - used)
    return missing <= 0 ? 0 : (missing + limit.amount - 1) / limit.amount
  }

  mutating func take(_ amount: Int64, _ limit: QuotaTable.Limit) {
    guard limit.amount > 0 else { return }
    used += min(amount, limit.amount) * limit.windowMilliseconds
  }

  /// After a change of the limit: no more is used than it allows.
  mutating func cut(to limit: QuotaTable.Limit) {
    used = min(used, limit.amount * limit.windowMilliseconds)
  }

  mutating func isUnused(_ limit: QuotaTable.Limit, _ now: Int64) -> Bool {
    giveBack(limit, now)
    return used == 0
  }

  private mutating func giveBack(_ limit: QuotaTable.Limit, _ now: Int64) {
    let elapsed = now - at
    guard elapsed > 0 else { return }
    at = now
    used = elapsed >= limit.windowMilliseconds ? 0 : max(0, used - elapsed * limit.amount)
  }
}

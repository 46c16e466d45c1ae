/// The browsers that are on a site now, as this gateway knows them: a value without clock and
/// database. A beacon changes memory only; `takeChanges` returns what PostgreSQL does not have yet.
///
/// Bounds: `visitorsMax` browsers and `ofWorkspaceMax` of one workspace, the oldest leave first;
/// `tabsMax` tabs of one browser; `pendingBytesMax` bytes and `departedMax` removals that wait for
/// PostgreSQL.
import Directory
import Primitives

struct WatchTable: Sendable {
  struct Limits: Sendable {
    var visitorsMax = 30_000
    var ofWorkspaceMax = 15_000
    var pendingBytesMax = 16_777_216
    /// Browsers that have left and whose rows PostgreSQL has still to remove. More of them while it
    /// is away are forgotten; then all rows are written anew.
    var departedMax = 30_000
    /// Beacons of one browser at once, and the milliseconds until it may send one more.
    var burst = 20
    var refillMilliseconds: Int64 = 1_000

    /// A full workspace has at least so many: the oldest sixteenth leaves at once.
    var fullWorkspace: Int { ofWorkspaceMax - ofWorkspaceMax / 16 }
  }

  static let tabsMax = 8
  /// Seconds between two heartbeats: at least, and at most.
  static let heartbeatMin = 10
  static let heartbeatMax = 240
  /// Beacons per second for which the heartbeat of all browsers is chosen: a part of a core that
  /// does not grow with their number. One on a new connection takes 0.4 ms of a cold processor.
  static let beaconsPerSecond = 45
  /// Heartbeats without one after which a browser has left.
  private static let missedMax = 3
  /// A browser whose tabs are all hidden sends no heartbeats; it has left after this time.
  private static let awaySeconds: Int64 = 600
  /// A page that closes is often followed by the next one of the same visitor.
  private static let returnSeconds: Int64 = 4

  struct Key: Hashable, Sendable {
    var workspace: Identifier
    var watcher: Identifier
  }

  enum TabState: Sendable { case here, away, gone }

  struct Beacon: Sendable {
    var key: Key
    var secretHash: [UInt8]
    /// Chosen by the page.
    var tab: String
    var state: TabState
    /// A JSON object; nil: as before.
    var visit: [UInt8]?
  }

  struct Answer: Sendable, Equatable {
    var heartbeatSeconds: Int
    /// The gateway does not know the visit: the next beacon must contain it.
    var needsVisit: Bool
    var invitation: WatchedVisitor.Invitation?
  }

  private struct Tab: Sendable {
    var name: String
    var isHere: Bool
    var at: WallTime
  }

  private struct Entry: Sendable {
    var secretHash: [UInt8]
    var tabs: [Tab] = []
    var seenAt: WallTime
    /// The last tab was closed.
    var leftAt: WallTime?
    /// The visit that PostgreSQL does not have yet.
    var pending: [UInt8]?
    /// PostgreSQL has, or is about to get, its visit.
    var isKnown = false
    var isStored = false
    var wasHere = false
    var tokens: Int
    var refilledAt: WallTime
    var invitation: WatchedVisitor.Invitation?

    var isHere: Bool { tabs.contains(where: \.isHere) }
  }

  private let limits: Limits
  private var entries: [Key: Entry] = [:]
  private var ofWorkspace: [Identifier: Int] = [:]
  private var dirty: Set<Key> = []
  /// Browsers that have left, whose rows PostgreSQL still has.
  private var departed: Set<Key> = []
  /// PostgreSQL has rows that nobody here remembers: all of this gateway must be removed.
  private(set) var mustRemoveAll = false
  private var pendingBytes = 0

  init(_ limits: Limits = Limits()) { self.limits = limits }

  var count: Int { entries.count }
  /// Browsers whose visit PostgreSQL has, or is about to get.
  private(set) var storedCount = 0
  func count(of workspace: Identifier) -> Int { ofWorkspace[workspace] ?? 0 }

  var heartbeatSeconds: Int {
    min(
      WatchTable.heartbeatMax,
      max(WatchTable.heartbeatMin, entries.count / WatchTable.beaconsPerSecond))
  }

  /// Takes a beacon. Nil: this browser sends too many.
  mutating func note(_ beacon: Beacon, now: WallTime) -> Answer? {
    let key = beacon.key
    if entries[key] == nil {
      guard beacon.state != .gone else { return answer(nil) }
      makeRoom(in: key.workspace)
      entries[key] = Entry(
        secretHash: beacon.secretHash, seenAt: now, tokens: limits.burst, refilledAt: now)
      ofWorkspace[key.workspace, default: 0] += 1
      // Back before its row was removed.
      if departed.remove(key) != nil { keepRow(key) }
    }
    guard takeToken(key, now) else { return nil }
    entries[key]?.seenAt = now
    setTab(key, beacon, now)
    if let visit = beacon.visit { setPending(key, visit) }
    markIfChanged(key)
    return answer(entries[key])
  }

  private func answer(_ entry: Entry?) -> Answer {
    Answer(
      heartbeatSeconds: heartbeatSeconds, needsVisit: entry.map { !$0.isKnown } ?? false,
      invitation: entry?.invitation)
  }

  private mutating func takeToken(_ key: Key, _ now: WallTime) -> Bool {
    guard var entry = entries[key] else { return false }
    let elapsed = max(0, now.microseconds - entry.refilledAt.microseconds) / 1_000
    let refill = elapsed / limits.refillMilliseconds
    if refill > 0 {
      entry.tokens = Int(min(Int64(limits.burst), Int64(entry.tokens) + refill))
      entry.refilledAt = now
    }
    let isAllowed = entry.tokens > 0
    if isAllowed { entry.tokens -= 1 }
    entries[key] = entry
    return isAllowed
  }

  private mutating func setTab(_ key: Key, _ beacon: Beacon, _ now: WallTime) {
    guard var entry = entries[key] else { return }
    entry.tabs.removeAll { $0.name == beacon.tab }
    if beacon.state == .gone {
      entry.leftAt = entry.tabs.isEmpty ? now : nil
    } else {
      // The oldest is dropped: it may have been closed without a word.
      if entry.tabs.count >= WatchTable.tabsMax { entry.tabs.removeFirst() }
      entry.tabs.append(Tab(name: beacon.tab, isHere: beacon.state == .here, at: now))
      entry.leftAt = nil
    }
    entries[key] = entry
  }

  private mutating func setPending(_ key: Key, _ visit: [UInt8]) {
    guard var entry = entries[key] else { return }
    let freed = entry.pending?.count ?? 0
    guard pendingBytes - freed + visit.count <= limits.pendingBytesMax else {
      // PostgreSQL is away. The browser is asked for its visit until there is room.
      entry.isKnown = entry.isStored
      entries[key] = entry
      return
    }
    pendingBytes += visit.count - freed
    entry.pending = visit
    entry.isKnown = true
    entries[key] = entry
    dirty.insert(key)
  }

  private mutating func markIfChanged(_ key: Key) {
    guard let entry = entries[key], entry.isKnown, entry.leftAt == nil else { return }
    if entry.isHere != entry.wasHere {
      entries[key]?.wasHere = entry.isHere
      dirty.insert(key)
    }
  }

  /// An operator has begun a conversation with this browser.
  mutating func invite(_ key: Key, to invitation: WatchedVisitor.Invitation) {
    entries[key]?.invitation = invitation
  }

  /// Replaces all invitations by those that PostgreSQL has.
  mutating func useInvitations(_ all: [Key: WatchedVisitor.Invitation]) {
    for (key, invitation) in all { entries[key]?.invitation = invitation }
  }

  /// PostgreSQL has lost the rows: browsers are asked for their visits.
  mutating func forgetStored() {
    mustRemoveAll = false
    departed = []
    for key in entries.keys where entries[key]?.pending == nil {
      if entries[key]?.isStored == true { storedCount -= 1 }
      entries[key]?.isStored = false
      entries[key]?.isKnown = false
    }
  }

  // MARK: Leaving

  private mutating func makeRoom(in workspace: Identifier) {
    if count(of: workspace) >= limits.ofWorkspaceMax {
      removeOldest { $0.workspace == workspace }
    } else if entries.count >= limits.visitorsMax {
      removeOldest { _ in true }
    }
  }

  /// Removes a sixteenth at once, so that a flood of new browsers does not search for each.
  private mutating func removeOldest(where isMeant: (Key) -> Bool) {
    var times: [Int64] = []
    for (key, entry) in entries where isMeant(key) { times.append(entry.seenAt.microseconds) }
    times.sort()
    let removedMax = max(1, times.count / 16)
    guard times.count >= removedMax else { return }
    var old: [Key] = []
    for (key, entry) in entries
    where isMeant(key) && entry.seenAt.microseconds <= times[removedMax - 1] {
      old.append(key)
    }
    for key in old.prefix(removedMax) { remove(key) }
  }

  private mutating func remove(_ key: Key) {
    guard let entry = entries.removeValue(forKey: key) else { return }
    pendingBytes -= entry.pending?.count ?? 0
    let left = (ofWorkspace[key.workspace] ?? 1) - 1
    ofWorkspace[key.workspace] = left > 0 ? left : nil
    dirty.remove(key)
    if entry.isStored {
      storedCount -= 1
      depart(key)
    }
  }

  private mutating func depart(_ key: Key) {
    guard departed.count < limits.departedMax else {
      departed = []
      mustRemoveAll = true
      return
    }
    departed.insert(key)
  }

  private mutating func keepRow(_ key: Key) {
    guard entries[key]?.isStored == false else { return }
    entries[key]?.isStored = true
    storedCount += 1
  }

  /// Removes browsers that have left, or of which nothing came for too long.
  mutating func sweep(now: WallTime) {
    let silence = Int64(heartbeatSeconds * WatchTable.missedMax + WatchTable.heartbeatMin)
    for (key, entry) in entries {
      let silent = (now.microseconds - entry.seenAt.microseconds) / 1_000_000
      if let left = entry.leftAt {
        if now.microseconds - left.microseconds >= WatchTable.returnSeconds * 1_000_000 {
          remove(key)
        }
      } else if silent > (entry.isHere ? silence : WatchTable.awaySeconds) {
        remove(key)
      }
    }
  }

  // MARK: Storing

  /// Removes and returns at most `limit` changes. The caller returns those that it could not store,
  /// with `giveBack`.
  mutating func takeChanges(limit: Int) -> [WatchedVisitor.Change] {
    var changes: [WatchedVisitor.Change] = []
    while changes.count < limit, let key = departed.popFirst() {
      changes.append(
        WatchedVisitor.Change(
          workspace: key.workspace, watcher: key.watcher, secretHash: [], state: nil, visit: nil))
    }
    while changes.count < limit, let key = dirty.popFirst() {
      guard let entry = entries[key], entry.pending != nil || entry.isStored else { continue }
      changes.append(
        WatchedVisitor.Change(
          workspace: key.workspace, watcher: key.watcher, secretHash: entry.secretHash,
          state: entry.isHere ? "here" : "away", visit: entry.pending))
      pendingBytes -= entry.pending?.count ?? 0
      entries[key]?.pending = nil
      if !entry.isStored { storedCount += 1 }
      entries[key]?.isStored = true
    }
    return changes
  }

  mutating func giveBack(_ changes: [WatchedVisitor.Change]) {
    for change in changes {
      let key = Key(workspace: change.workspace, watcher: change.watcher)
      guard let entry = entries[key] else {
        depart(key)
        continue
      }
      if change.state == nil { keepRow(key) }
      dirty.insert(key)
      guard let visit = change.visit, entry.pending == nil else { continue }
      pendingBytes += visit.count
      entries[key]?.pending = visit
    }
  }
}

import Chat
import Primitives

/// The sessions that a loop holds in memory, by id and by index. The table evicts sessions, limits
/// the memory of recent entries, and lists the sessions with something new for their subscribers.
///
/// Eviction takes a session without followers, the longest unused first. These are in a list linked
/// through the sessions, so that a change costs the same at any size. Invariant: a session is in
/// that list exactly while it is loaded and has neither subscribers here nor following loops.
///
/// The recent entries of all sessions are limited to `recentBytesMax` by the clock algorithm: the
/// entries of a session are dropped when none was added since the hand last passed it. So a message
/// costs only a flag. Dropped entries are read from the database.
public struct SessionTable: ~Copyable {
  private var slab: Slab<Session>
  private var indexByID: [Identifier: SessionIndex] = [:]
  private let limit: Int
  /// The ends of the list of sessions without followers.
  private var oldestUnfollowed: SessionIndex?
  private var newestUnfollowed: SessionIndex?
  /// Sessions with something new for subscribers or following loops.
  private var dirty: [SessionIndex] = []
  /// Bytes of the recent entries of all sessions.
  public private(set) var recentByteCount = 0
  private let recentBytesMax: Int
  /// The next session of the clock algorithm.
  private var hand = SessionIndex(0)
  /// The epoch of the session loaded last. Nearly all sessions share this copy.
  private var epoch: [UInt8] = []
  private(set) var loads: UInt64 = 0
  var evictions: UInt64 = 0
  private(set) var recentDrops: UInt64 = 0

  init(limit: Int, recentBytesMax: Int) {
    slab = Slab(limit: limit)
    self.limit = limit
    self.recentBytesMax = recentBytesMax
  }

  @inline(__always)
  subscript(session: SessionIndex) -> Session {
    // SAFETY: the slab keeps the element where it is while this access lasts.
    unsafeAddress { unsafe UnsafePointer(slab.address(of: session.value)) }
    unsafeMutableAddress { unsafe slab.address(of: session.value) }
  }

  // MARK: Membership

  /// Sessions in memory.
  public var count: Int { slab.count }

  /// Every index that was ever used; see `isOccupied`.
  var indices: Range<SessionIndex> { SessionIndex(0)..<SessionIndex(slab.endIndex) }

  func isOccupied(_ session: SessionIndex) -> Bool { slab.isOccupied(session.value) }

  func contains(_ id: LoadedSessionID) -> Bool { slab.contains(id.slotID) }

  func loadedID(at session: SessionIndex) -> LoadedSessionID {
    LoadedSessionID(slab.id(at: session.value))
  }

  @inline(__always)
  func index(of id: Identifier) -> SessionIndex? { indexByID[id] }

  /// The index of a session that has loaded.
  func ready(_ id: Identifier) -> SessionIndex? {
    guard let session = index(of: id), self[session].phase == .ready else { return nil }
    return session
  }

  // MARK: Loading and eviction

  var isFull: Bool { slab.count >= limit }

  /// Adds a session that has to load. Returns nil when the table is full.
  mutating func insert(
    _ id: Identifier, workspaceHint: Identifier?, isOwned: Bool, now: Instant
  ) -> SessionIndex? {
    guard
      let slotID = slab.insert(
        Session(id: id, workspaceHint: workspaceHint, isOwned: isOwned, now: now))
    else { return nil }
    loads += 1
    let session = SessionIndex(Int(slotID.index))
    indexByID[id] = session
    return session
  }

  /// Removes a session from memory and returns it.
  mutating func remove(_ session: SessionIndex, _ presence: inout Presence) -> Session {
    unlist(session)
    recentByteCount -= self[session].log.countedByteCount
    let removed = slab.remove(session.value)
    indexByID[removed.id] = nil
    presence.forget(removed.id)
    return removed
  }

  /// Sets the state that was read for a loading session.
  mutating func becomeReady(_ session: SessionIndex, _ snapshot: SessionSnapshot) {
    self[session].phase = .ready
    self[session].snapshot = snapshot
    if snapshot.epoch == epoch {
      self[session].snapshot.epoch = epoch
    } else {
      epoch = snapshot.epoch
    }
    emptyLog(session)
    self[session].postedSeq = snapshot.head
  }

  /// The session to evict: the longest unused one, or nil. Unstored marks or a read may keep a
  /// session in memory for a moment, so `Limits.evictionCandidates` sessions are considered.
  func evictionCandidate() -> SessionIndex? {
    var next = oldestUnfollowed
    for _ in 0..<Limits.evictionCandidates {
      guard let session = next else { return nil }
      if self[session].isIdle, !self[session].isDirty { return session }
      next = self[session].unfollowed?.newer
    }
    return nil
  }

  /// Call it when a session has loaded, and when its subscribers or following loops have changed.
  mutating func followersChanged(_ session: SessionIndex) {
    unlist(session)
    guard self[session].isUnfollowed else { return }
    self[session].unfollowed = UnfollowedLinks(older: newestUnfollowed)
    if let newest = newestUnfollowed {
      self[newest].unfollowed?.newer = session
    } else {
      oldestUnfollowed = session
    }
    newestUnfollowed = session
  }

  /// On the owner: a loop no longer follows a session.
  mutating func removeFollower(_ loop: Int, of id: Identifier, now: Instant) {
    guard let session = index(of: id) else { return }
    self[session].followers.remove(loop)
    if self[session].phase == .loading { self[session].waitingFollowers.remove(loop) }
    self[session].idleSince = now
    followersChanged(session)
  }

  private mutating func unlist(_ session: SessionIndex) {
    guard let place = self[session].unfollowed else { return }
    self[session].unfollowed = nil
    if let older = place.older {
      self[older].unfollowed?.newer = place.newer
    } else {
      oldestUnfollowed = place.newer
    }
    if let newer = place.newer {
      self[newer].unfollowed?.older = place.older
    } else {
      newestUnfollowed = place.older
    }
  }

  // MARK: News

  var hasDirty: Bool { !dirty.isEmpty }

  mutating func markDirty(_ session: SessionIndex) {
    guard !self[session].isDirty else { return }
    self[session].isDirty = true
    dirty.append(session)
  }

  /// Takes the sessions with something new, in the order in which they got it. Return the list with
  /// `recycle`.
  mutating func takeDirty() -> [SessionIndex] {
    var taken: [SessionIndex] = []
    swap(&taken, &dirty)
    return taken
  }

  mutating func recycle(_ taken: consuming [SessionIndex]) {
    taken.removeAll(keepingCapacity: true)
    dirty = taken
  }

  // MARK: Recent entries

  /// Updates `recentByteCount` after a change of a session's log.
  mutating func countLog(_ session: SessionIndex) {
    recentByteCount += self[session].log.recount()
  }

  /// Frees the recent entries of a session.
  mutating func emptyLog(_ session: SessionIndex) {
    recentByteCount -= self[session].log.countedByteCount
    self[session].log = RecentLog(head: self[session].head)
  }

  /// Drops recent entries when there are too many bytes of them, down to 7/8 of the limit, so that
  /// it is not needed for every message. Call it when no session is dirty.
  mutating func dropRecent() {
    guard recentByteCount > recentBytesMax else { return }
    let goal = recentBytesMax / 8 * 7
    // The first visit of a session may only clear its flag.
    var visits = 2 * slab.endIndex
    while recentByteCount > goal, visits > 0 {
      visits -= 1
      let next = hand.advanced(by: 1)
      hand = next < indices.upperBound ? next : SessionIndex(0)
      let session = hand
      guard isOccupied(session), !self[session].log.isEmpty, !self[session].isDirty,
        !self[session].log.takeFreshness()
      else { continue }
      emptyLog(session)
      recentDrops += 1
    }
  }
}

/// A session's links in the list of sessions without followers.
struct UnfollowedLinks {
  private var olderRaw = UInt32.max
  private var newerRaw = UInt32.max

  init(older: SessionIndex?) { self.older = older }

  var older: SessionIndex? {
    get { olderRaw == .max ? nil : SessionIndex(Int(olderRaw)) }
    set { olderRaw = newValue.map { UInt32($0.value) } ?? .max }
  }
  var newer: SessionIndex? {
    get { newerRaw == .max ? nil : SessionIndex(Int(newerRaw)) }
    set { newerRaw = newValue.map { UInt32($0.value) } ?? .max }
  }
}

extension SessionTable {
  /// The first invariant of the table that does not hold, or nil; for the simulator and the fuzzer.
  func inconsistency() -> String? {
    guard indexByID.count == count else { return "a different number of sessions in the index" }
    guard count <= limit else { return "more sessions than may be in memory" }
    var found = 0
    var recentBytes = 0
    for session in indices where isOccupied(session) {
      found += 1
      recentBytes += self[session].log.countedByteCount
      guard indexByID[self[session].id] == session else { return "a session without its index" }
      guard self[session].phase == .loading || self[session].log.last == self[session].head
      else { return "recent entries that do not end at the head" }
    }
    guard found == count else { return "a wrong number of sessions" }
    guard recentBytes == recentByteCount else { return "a wrong size of the recent entries" }
    return inconsistencyOfUnfollowed()
  }

  private func inconsistencyOfUnfollowed() -> String? {
    var listed = 0
    var previous: SessionIndex?
    var next = oldestUnfollowed
    while let session = next {
      guard listed < count, isOccupied(session), let place = self[session].unfollowed,
        place.older == previous
      else { return "a broken list of unfollowed sessions" }
      listed += 1
      (previous, next) = (session, place.newer)
    }
    guard previous == newestUnfollowed else {
      return "a list of unfollowed sessions with the wrong end"
    }
    for session in indices where isOccupied(session) {
      if (self[session].unfollowed != nil) != self[session].isUnfollowed {
        return "a session that is both listed and followed, or neither"
      }
      if self[session].isUnfollowed { listed -= 1 }
    }
    return listed == 0 ? nil : "unfollowed sessions that are not listed"
  }

  // MARK: The path of a message

  /// The head of a session that is in memory. `Batch.unknownHead` while it is read, or has to be:
  /// somebody else may have changed it.
  func knownHead(of id: Identifier) -> Int64 {
    guard let session = ready(id), !self[session].isStale, !self[session].isReading else {
      return Batch.unknownHead
    }
    return self[session].head
  }

  /// Whether a session in memory has no operator, so that a reply claims it.
  func isUnclaimed(_ id: Identifier) -> Bool {
    guard let session = ready(id) else { return false }
    return self[session].snapshot.status == .waiting && self[session].snapshot.assignee == nil
  }

  /// Holds a command whose `subscribe` waits for the session to load, so that a client may send
  /// both at once. Returns true when the command was held or refused.
  mutating func hold(
    _ connection: ConnectionIndex, _ session: Identifier, _ ref: Reference, _ command: RawSpan,
    _ connections: inout ConnectionTable
  ) -> Bool {
    guard let index = index(of: session), self[index].phase == .loading else { return false }
    let id = connections.id(at: connection)
    guard let subscribe = self[index].waiting.lastIndex(where: { $0.connection == id }) else {
      return false
    }
    if self[index].waiting[subscribe].held.count < Limits.inFlight {
      var copy: [UInt8] = []
      copy.append(command)
      self[index].waiting[subscribe].held.append(copy)
    } else {
      connections.refuse(connection, ref, .rateLimited, retryAfter: 100)
    }
    return true
  }

  /// On the owner: mails new entries to the following loops, one mail for each session, loop and
  /// iteration.
  mutating func postLog(_ session: SessionIndex, _ effects: inout Effects) {
    let head = self[session].head
    guard self[session].isOwned, self[session].postedSeq < head else { return }
    let from = max(self[session].postedSeq + 1, self[session].log.first)
    self[session].postedSeq = head
    guard !self[session].followers.isEmpty else { return }
    let part = self[session].log.part(from: from)
    effects.post(.log(session: self[session].id, part), toEach: self[session].followers)
  }
}

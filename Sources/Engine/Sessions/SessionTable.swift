import Chat
import Primitives

/// The sessions that a loop holds in memory, found by id or by index; which of them may be evicted
/// when another one needs room; how much memory their recent messages take; and which have
/// something new for their subscribers.
///
/// Eviction takes a session that nobody follows, the longest unused first. Those stand in a list
/// through the sessions themselves, so that every change costs the same however many there are.
/// Invariant: a session stands in that list exactly while it is loaded and has neither subscribers
/// here nor followers on other loops.
///
/// Recent messages are dropped by the clock algorithm when all together exceed `recentBytesMax`:
/// those of a session to which nothing was added since the hand came by the last time, so that a
/// message costs no more than a flag. Dropped messages are read from the database.
struct SessionTable: ~Copyable {
  private var slab: Slab<Session>
  private var indexByID: [Identifier: SessionIndex] = [:]
  private let limit: Int
  /// The ends of the list of unfollowed sessions.
  private var oldestUnfollowed: SessionIndex?
  private var newestUnfollowed: SessionIndex?
  /// Sessions with something new for subscribers or followers.
  private var dirty: [SessionIndex] = []
  /// Bytes of recent messages of all sessions.
  private(set) var recentByteCount = 0
  private let recentBytesMax: Int
  /// The session that the clock looks at next.
  private var hand = 0
  /// The epoch of the session that was loaded last: nearly all sessions share this copy.
  private var epoch: [UInt8] = []
  private(set) var loads: UInt64 = 0
  private(set) var evictions: UInt64 = 0
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

  // MARK: Who is there

  var count: Int { slab.count }

  /// All places that were ever used; `isOccupied` says which are in use now.
  var indices: Range<SessionIndex> { SessionIndex(0)..<SessionIndex(slab.endIndex) }

  func isOccupied(_ session: SessionIndex) -> Bool { slab.isOccupied(session.value) }

  func contains(_ id: LoadedSessionID) -> Bool { slab.contains(id.slotID) }

  func loadedID(at session: SessionIndex) -> LoadedSessionID {
    LoadedSessionID(slab.id(at: session.value))
  }

  @inline(__always)
  func index(of id: Identifier) -> SessionIndex? { indexByID[id] }

  /// The same, of a session that has loaded.
  func ready(_ id: Identifier) -> SessionIndex? {
    guard let session = index(of: id), self[session].phase == .ready else { return nil }
    return session
  }

  // MARK: Coming and going

  var isFull: Bool { slab.count >= limit }

  /// A session that loads; nil when the table is full.
  mutating func insert(
    _ id: Identifier, workspaceHint: Identifier?, isOwned: Bool, now: Instant
  ) -> SessionIndex? {
    guard
      let slot = slab.insert(
        Session(id: id, workspaceHint: workspaceHint, isOwned: isOwned, now: now))
    else { return nil }
    loads += 1
    let session = SessionIndex(Int(slot.index))
    indexByID[id] = session
    return session
  }

  /// Removes a session from memory and returns what it was.
  mutating func remove(_ session: SessionIndex) -> Session {
    unlist(session)
    recentByteCount -= self[session].log.countedByteCount
    let gone = slab.remove(session.value)
    indexByID[gone.id] = nil
    return gone
  }

  /// The state of a session that has been read.
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

  /// The session to evict: the one unused for the longest time. Nil when none can go: the oldest
  /// few are looked at, since marks or a read may hold one for a moment.
  func evictionCandidate() -> SessionIndex? {
    var next = oldestUnfollowed
    for _ in 0..<Limits.evictionCandidates {
      guard let session = next else { return nil }
      if self[session].isIdle, !self[session].isDirty { return session }
      next = self[session].unfollowed?.newer
    }
    return nil
  }

  mutating func countEviction() { evictions += 1 }

  /// Call it whenever a session has loaded, and when somebody has begun or ceased to follow it.
  mutating func followersChanged(_ session: SessionIndex) {
    unlist(session)
    guard self[session].isUnfollowed else { return }
    self[session].unfollowed = UnfollowedPlace(older: newestUnfollowed)
    if let newest = newestUnfollowed {
      self[newest].unfollowed?.newer = session
    } else {
      oldestUnfollowed = session
    }
    newestUnfollowed = session
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

  // MARK: Something new

  var hasDirty: Bool { !dirty.isEmpty }

  mutating func markDirty(_ session: SessionIndex) {
    guard !self[session].isDirty else { return }
    self[session].isDirty = true
    dirty.append(session)
  }

  /// The sessions with something new, in the order in which it came; give the list back.
  mutating func takeDirty() -> [SessionIndex] {
    var taken: [SessionIndex] = []
    swap(&taken, &dirty)
    return taken
  }

  mutating func recycle(_ taken: consuming [SessionIndex]) {
    taken.removeAll(keepingCapacity: true)
    dirty = taken
  }

  // MARK: Recent messages

  /// Counts what a session's log has gained or lost.
  mutating func countLog(_ session: SessionIndex) {
    recentByteCount += self[session].log.recount()
  }

  /// Forgets the recent messages of a session.
  mutating func emptyLog(_ session: SessionIndex) {
    recentByteCount -= self[session].log.countedByteCount
    self[session].log = RecentLog(head: self[session].head)
  }

  /// Makes room, somewhat more than is needed, so that it need not be made for every message. Call
  /// it when no session is dirty.
  mutating func dropRecent() {
    guard recentByteCount > recentBytesMax else { return }
    let goal = recentBytesMax / 8 * 7
    // Each is looked at twice: once to take its flag away.
    var looks = 2 * slab.endIndex
    while recentByteCount > goal, looks > 0 {
      looks -= 1
      hand = hand + 1 < slab.endIndex ? hand + 1 : 0
      let session = SessionIndex(hand)
      guard isOccupied(session), !self[session].log.isEmpty, !self[session].isDirty,
        !self[session].log.takeFreshness()
      else { continue }
      emptyLog(session)
      recentDrops += 1
    }
  }
}

/// A session's place in the list of unfollowed sessions.
struct UnfollowedPlace {
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
  /// What is wrong with the table itself, or nil; for the simulator and the fuzzer.
  func inconsistency() -> String? {
    guard indexByID.count == count else { return "the index has another number of sessions" }
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
    guard found == count else { return "a count that is not the number of sessions" }
    guard recentBytes == recentByteCount else { return "recent messages of another size" }
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
    guard previous == newestUnfollowed else { return "unfollowed sessions that end elsewhere" }
    for session in indices where isOccupied(session) {
      if (self[session].unfollowed != nil) != self[session].isUnfollowed {
        return "a session that is listed and followed, or neither"
      }
      if self[session].isUnfollowed { listed -= 1 }
    }
    return listed == 0 ? nil : "unfollowed sessions that are not listed"
  }
}

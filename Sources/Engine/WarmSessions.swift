import Chat
import Primitives

/// Which sessions may leave memory when another one needs room: those that nobody follows, the
/// longest unused first. They stand in a list through the sessions themselves, so that every change
/// costs the same however many are warm.
struct UnfollowedList {
  /// Slots of sessions, -1 when the list is empty.
  var oldest = -1
  var newest = -1
}

/// A session's place in that list.
struct UnfollowedPlace {
  private var olderSlot: Int32 = -1
  private var newerSlot: Int32 = -1

  init(older: Int) { self.older = older }

  var older: Int {
    get { Int(olderSlot) }
    set { olderSlot = Int32(newValue) }
  }
  var newer: Int {
    get { Int(newerSlot) }
    set { newerSlot = Int32(newValue) }
  }
}

/// Invariant: a session stands in the list exactly while it is loaded and has neither subscribers
/// here nor followers on other loops.
extension Engine {
  /// Sessions that are held in memory now; at most `Configuration.sessionsMax`.
  public var sessionCount: Int { sessions.count }

  /// The slot of a session, which is loaded when it was cold; nil when as many sessions as may be
  /// warm are in use.
  mutating func warm(_ id: Identifier, of workspace: Identifier?) -> Int? {
    if let index = sessionIndex[id] { return index }
    if sessions.count >= configuration.sessionsMax, !evict() { return nil }
    let owner = owner(of: id)
    guard
      let slot = sessions.insert(
        Session(id: id, workspaceHint: workspace, isOwned: owner == loop, now: now))
    else {
      return nil
    }
    counters.sessionLoads += 1
    let index = Int(slot.index)
    sessionIndex[id] = index
    sessions[index].isReading = true
    if owner == loop {
      reads.append(.session(id))
    } else {
      post(.follow(session: id, workspace: workspace, loop: loop), to: owner)
    }
    return index
  }

  /// Gives up the session that was unused for the longest time. Messages of it may be on their way
  /// to the store all the same: `committed` finds it cold, or loaded anew and reads it again. False
  /// when none can go: the oldest few are looked at, since marks or a read may hold one for a
  /// moment.
  private mutating func evict() -> Bool {
    var index = unfollowed.oldest
    for _ in 0..<Limits.evictionCandidates where index >= 0 {
      if sessions[index].isIdle, !sessions[index].isDirty {
        counters.sessionEvictions += 1
        cool(index)
        return true
      }
      index = sessions[index].unfollowed?.newer ?? -1
    }
    return false
  }

  /// Removes a session that nobody uses, and tells its owner.
  mutating func cool(_ index: Int) {
    let session = forget(index)
    if !session.isOwned {
      post(.unfollow(session: session.id, loop: loop), to: owner(of: session.id))
    }
  }

  /// Removes a session from memory and returns what it was.
  mutating func forget(_ index: Int) -> Session {
    unlist(index)
    recent.byteCount -= sessions[at: index].log.countedByteCount
    let session = sessions.remove(index)
    sessionIndex[session.id] = nil
    if !viewers.isEmpty { viewers[session.id] = nil }
    return session
  }

  /// Call it whenever a session has loaded, and when somebody has begun or ceased to follow it.
  mutating func followersChanged(_ index: Int) {
    unlist(index)
    guard sessions[index].isUnfollowed else { return }
    sessions[index].unfollowed = UnfollowedPlace(older: unfollowed.newest)
    if unfollowed.newest >= 0 {
      sessions[unfollowed.newest].unfollowed?.newer = index
    } else {
      unfollowed.oldest = index
    }
    unfollowed.newest = index
  }

  private mutating func unlist(_ index: Int) {
    guard let place = sessions[index].unfollowed else { return }
    sessions[index].unfollowed = nil
    if place.older >= 0 {
      sessions[place.older].unfollowed?.newer = place.newer
    } else {
      unfollowed.oldest = place.newer
    }
    if place.newer >= 0 {
      sessions[place.newer].unfollowed?.older = place.older
    } else {
      unfollowed.newest = place.older
    }
  }
}

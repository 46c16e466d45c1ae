import Chat
import Primitives

/// Sessions enter memory when a connection or another loop follows them, and are evicted when none
/// does.
extension SessionTable {
  /// The index of a session, which starts to load if it is not in memory. Returns nil when the
  /// table is full and no session can be evicted.
  ///
  /// Messages of an evicted session may be on their way to the store. `Engine.committed` then finds
  /// no session, or one that has loaded again and whose entries it reads.
  mutating func load(
    _ id: Identifier, of workspace: Identifier?, _ presence: inout Presence,
    _ effects: inout Effects, now: Instant
  ) -> SessionIndex? {
    if let session = index(of: id) { return session }
    if isFull {
      guard let oldest = evictionCandidate() else { return nil }
      evictions += 1
      evict(oldest, &presence, &effects)
    }
    let isOwned = effects.owner(of: id) == effects.loop
    guard let session = insert(id, workspaceHint: workspace, isOwned: isOwned, now: now) else {
      return nil
    }
    self[session].isReading = true
    if isOwned {
      effects.read(.session(id))
    } else {
      effects.post(
        .follow(session: id, workspace: workspace, loop: effects.loop), toOwnerOf: id)
    }
    return session
  }

  /// The index of a session that gets a follower. With other gateways on the database, a session
  /// that had no follower may be outdated in memory: it is read again, as if it had to load.
  mutating func loadCurrent(
    _ id: Identifier, of workspace: Identifier?, _ presence: inout Presence,
    _ effects: inout Effects, now: Instant
  ) -> SessionIndex? {
    if effects.hasPeers, let session = index(of: id), self[session].isUnfollowed,
      self[session].checkedSeq <= self[session].head + 1
    {
      if self[session].isIdle, !self[session].isDirty {
        evict(session, &presence, &effects)
      } else {
        reread(session, &effects)
      }
    }
    return load(id, of: workspace, &presence, &effects, now: now)
  }

  /// Removes a session without followers from memory, and unfollows it at its owner.
  mutating func evict(
    _ session: SessionIndex, _ presence: inout Presence, _ effects: inout Effects
  ) {
    let removed = remove(session, &presence)
    if !removed.isOwned {
      effects.post(
        .unfollow(session: removed.id, loop: effects.loop), toOwnerOf: removed.id)
    }
  }
}

import Chat
import Primitives

/// Sessions come into memory when somebody follows them, and leave it when nobody does.
extension Engine {
  /// The index of a session, which is loaded if it is not in memory; nil when as many sessions as
  /// may be in memory are in use.
  ///
  /// Messages of an evicted session may be on their way to the store: `committed` finds it gone, or
  /// loaded anew and reads it again.
  mutating func load(_ id: Identifier, of workspace: Identifier?) -> SessionIndex? {
    if let index = sessions.index(of: id) { return index }
    if sessions.isFull {
      guard let oldest = sessions.evictionCandidate() else { return nil }
      sessions.countEviction()
      evict(oldest)
    }
    let isOwned = effects.owner(of: id) == loop
    guard
      let index = sessions.insert(id, workspaceHint: workspace, isOwned: isOwned, now: now)
    else { return nil }
    sessions[index].isReading = true
    if isOwned {
      effects.read(.session(id))
    } else {
      effects.post(.follow(session: id, workspace: workspace, loop: loop), toOwnerOf: id)
    }
    return index
  }

  /// Removes a session that nobody uses, and tells its owner.
  mutating func evict(_ index: SessionIndex) {
    let session = forget(index)
    if !session.isOwned {
      effects.post(.unfollow(session: session.id, loop: loop), toOwnerOf: session.id)
    }
  }

  /// Removes a session from memory and returns what it was.
  mutating func forget(_ index: SessionIndex) -> Session {
    let session = sessions.remove(index)
    presence.forget(session.id)
    return session
  }

  /// The index of a session that somebody begins to follow. Memory may be old where other gateways
  /// write too and nobody followed the session: it is read again, as if it had not been loaded.
  mutating func loadAnew(_ id: Identifier, of workspace: Identifier?) -> SessionIndex? {
    if hasPeers, let index = sessions.index(of: id), sessions[index].isUnfollowed,
      sessions[index].askedSeq <= sessions[index].head + 1
    {
      if sessions[index].isIdle, !sessions[index].isDirty {
        evict(index)
      } else {
        sessions.reread(index, &effects)
      }
    }
    return load(id, of: workspace)
  }
}

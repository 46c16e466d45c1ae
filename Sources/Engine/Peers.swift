import Chat
public import Primitives

/// Other gateways on the same database. Commits here are announced to them by the driver
/// (`Effects.takeChanges`), and theirs come as `changed`: then the state and the entries are read
/// from the database, which has numbered them.
extension Engine {
  /// The index of a session that somebody begins to follow. What memory holds of one that nobody
  /// followed may be old where others write too: it is read again, as if it had been cold.
  mutating func loadAnew(_ id: Identifier, of workspace: Identifier?) -> SessionIndex? {
    if hasPeers, let index = sessions.index(of: id), sessions[index].isUnfollowed,
      sessions[index].askedSeq <= sessions[index].head + 1
    {
      if sessions[index].isIdle, !sessions[index].isDirty {
        evict(index)
      } else {
        reread(index)
      }
    }
    return load(id, of: workspace)
  }

  /// What was read on another gateway. Neither stored again nor told to the others again.
  mutating func adoptMarks(of read: SessionSnapshot, _ index: SessionIndex) {
    guard hasPeers else { return }
    for mark in read.marks {
      let known = sessions[index].snapshot.marks.first { $0.person.id == mark.person.id }
      guard mark.read > known?.read ?? 0 || mark.delivered > known?.delivered ?? 0 else { continue }
      // Marks never go beyond the head: first the entries, then they are looked at again.
      guard mark.delivered <= sessions[index].head, mark.read <= sessions[index].head else {
        sessions[index].isStale = true
        continue
      }
      var higher = mark
      higher.read = max(mark.read, known?.read ?? 0)
      higher.delivered = max(mark.delivered, known?.delivered ?? 0)
      adoptMark(higher, index)
      effects.post(
        .mark(session: read.id, higher), toEach: sessions[index].followers)
    }
  }

  /// Followed sessions of this loop and the head that it knows of each, to be compared with the
  /// database; with the index to go on from, nil behind the last one.
  public func followed(
    from start: SessionIndex, limit: Int
  ) -> (known: [(session: Identifier, workspace: Identifier, head: Int64)], next: SessionIndex?) {
    var known: [(session: Identifier, workspace: Identifier, head: Int64)] = []
    for index in start..<max(start, sessions.indices.upperBound) {
      guard known.count < limit else { return (known, index) }
      if sessions.isOccupied(index), sessions[index].isOwned, sessions[index].phase == .ready,
        !sessions[index].isUnfollowed, !sessions[index].isReading
      {
        known.append(
          (sessions[index].id, sessions[index].snapshot.workspace, sessions[index].head))
      }
    }
    return (known, nil)
  }
}

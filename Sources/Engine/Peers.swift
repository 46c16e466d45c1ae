import Chat
public import Primitives

/// Other gateways on the same database. What is committed here is told to them by the driver
/// (`takeChanges`), and what they commit comes as `changed`: then the state and the entries are
/// read from the database, which has numbered them, so that order and completeness depend on nobody
/// being told anything.
public struct SessionChange: Sendable, Hashable {
  public var session: Identifier
  /// Nil where whoever changed it does not say.
  public var workspace: Identifier?

  public init(session: Identifier, workspace: Identifier?) {
    self.session = session
    self.workspace = workspace
  }
}

extension Engine {
  /// Apart from the path of messages, where there are no others.
  @inline(never)
  public mutating func noteChange(_ session: Identifier, _ workspace: Identifier?) {
    let change = SessionChange(session: session, workspace: workspace)
    if changes.last != change { changes.append(change) }
  }

  public var hasChanges: Bool { !changes.isEmpty }

  /// What was changed here since the last call; the driver takes it with each iteration.
  public mutating func takeChanges() -> [SessionChange] {
    guard !changes.isEmpty else { return [] }
    defer { changes = [] }
    return changes
  }

  /// The slot of a session that somebody begins to follow. What memory holds of one that nobody
  /// followed may be old where others write too: it is read again, as if it had been cold.
  mutating func warmAnew(_ id: Identifier, of workspace: Identifier?) -> Int? {
    if hasPeers, let index = sessionIndex[id], sessions[index].isUnfollowed,
      sessions[index].askedSeq <= sessions[index].head + 1
    {
      if sessions[index].isIdle, !sessions[index].isDirty {
        cool(index)
      } else {
        reread(index)
      }
    }
    return warm(id, of: workspace)
  }

  /// What was read on another gateway. Neither stored again nor told to the others again.
  mutating func adoptMarks(of read: SessionSnapshot, _ index: Int) {
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
      forEachLoop(sessions[index].followers) { engine, loop in
        engine.post(.mark(session: read.id, higher), to: loop)
      }
    }
  }

  /// Sessions of this loop that somebody follows and how far they are known, from a slot on; with
  /// the slot to go on from, nil behind the last one. For whoever compares them with the database.
  public func followed(
    from slot: Int, limit: Int
  ) -> (known: [(session: Identifier, workspace: Identifier, head: Int64)], next: Int?) {
    var known: [(session: Identifier, workspace: Identifier, head: Int64)] = []
    var index = slot
    while index < sessions.endIndex {
      guard known.count < limit else { return (known, index) }
      if sessions.isOccupied(index), sessions[index].isOwned, sessions[index].phase == .ready,
        !sessions[index].isUnfollowed, !sessions[index].isReading
      {
        known.append(
          (sessions[index].id, sessions[index].snapshot.workspace, sessions[index].head))
      }
      index += 1
    }
    return (known, nil)
  }
}

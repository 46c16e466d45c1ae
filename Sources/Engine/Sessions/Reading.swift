import Chat
public import Primitives

/// Reads of sessions from the database, at most one at a time for each, and their results.
extension SessionTable {
  /// Requests the state again; on a following loop, the entries behind the head.
  mutating func reread(_ session: SessionIndex, _ effects: inout Effects) {
    guard self[session].isOwned else {
      catchUp(session, &effects)
      return
    }
    guard !self[session].isReading else {
      self[session].isStale = true
      return
    }
    self[session].isStale = false
    self[session].isReading = true
    effects.read(.session(self[session].id))
  }

  /// Requests the entries behind the head.
  mutating func catchUp(_ session: SessionIndex, _ effects: inout Effects) {
    guard !self[session].isReading else {
      self[session].isStale = true
      return
    }
    self[session].isStale = false
    self[session].isReading = true
    effects.read(
      .entries(
        session: self[session].id, after: self[session].head, limit: Limits.backlogPage,
        .catchUp))
  }

  /// Requests the state of every session in memory again, since another process may have changed
  /// any.
  public mutating func rereadAll(_ effects: inout Effects) {
    for session in indices
    where isOccupied(session) && self[session].isOwned && self[session].phase == .ready {
      reread(session, &effects)
    }
  }

  /// Whether a client may know more than this loop, though no read is pending. The client may come
  /// from another gateway, or from a loop that has already read entries of a batch whose outcome is
  /// delayed here or was lost. The client is refused for now and the database is read, once for
  /// each position in the log: if the entries are missing then, the log has gone back.
  mutating func mayBeBehind(
    _ session: SessionIndex, _ from: Int64, _ effects: inout Effects
  ) -> Bool {
    guard from > self[session].checkedSeq else { return false }
    self[session].checkedSeq = from
    reread(session, &effects)
    return true
  }

  /// The response to a read for `ReadRequest.Purpose.catchUp`: appends the entries and continues
  /// with the next page. Returns the session if it may have new entries.
  mutating func catchUpLoaded(
    _ id: Identifier, _ page: LogPage?, _ effects: inout Effects
  ) -> SessionIndex? {
    guard let session = index(of: id) else { return nil }
    self[session].isReading = false
    guard let page else {
      self[session].isStale = true
      return nil
    }
    for entry in page.entries where entry.seq == self[session].head + 1 {
      self[session].log.append(isNote: entry.kind == .note) {
        EventEncoder.message(entry, session: id, to: &$0)
      }
      self[session].snapshot.head = entry.seq
    }
    if page.isFull {
      catchUp(session, &effects)
    } else if self[session].isStale {
      reread(session, &effects)
    }
    return session
  }

  /// On a following loop: appends entries from the owner, or reads them from the database if they
  /// do not follow the head. Returns the session if it has new entries.
  mutating func append(
    _ part: LogPart, to id: Identifier, _ effects: inout Effects
  ) -> SessionIndex? {
    guard let session = ready(id) else { return nil }
    let head = self[session].head
    guard part.first == head + 1 else {
      if part.last > head { catchUp(session, &effects) }
      return nil
    }
    self[session].log.append(part)
    self[session].snapshot.head = part.last
    return session
  }

  /// Frees the recent entries of a session that has had no subscriber for a while. They are most of
  /// its memory, and the database has them.
  mutating func forgetRecent(_ session: SessionIndex, now: Instant) {
    guard self[session].subscribers.isEmpty, !self[session].log.isEmpty, !self[session].isDirty,
      self[session].phase == .ready,
      now.milliseconds(since: self[session].idleSince) >= Limits.recentIdleMilliseconds
    else { return }
    emptyLog(session)
  }

  /// The workspace of a session, which is part of its keys in the database. While the session
  /// loads, a hint; nil when it is not in memory.
  public func workspace(of id: Identifier) -> Identifier? {
    guard let session = index(of: id) else { return nil }
    return self[session].phase == .ready
      ? self[session].snapshot.workspace : self[session].workspaceHint
  }

  /// Whether this loop may not know the newest entries: the state is outdated or being read.
  /// Another loop may have sent newer entries to clients meanwhile.
  func isBehind(_ session: SessionIndex) -> Bool {
    self[session].isStale || self[session].isReading
  }

  /// The followed sessions of this loop with their known heads, to compare them with the database.
  /// - Returns: at most `limit` sessions, and the index to continue from, nil after the last one.
  public func followed(
    from start: SessionIndex, limit: Int
  ) -> (known: [(session: Identifier, workspace: Identifier, head: Int64)], next: SessionIndex?) {
    var known: [(session: Identifier, workspace: Identifier, head: Int64)] = []
    for session in start..<max(start, indices.upperBound) {
      guard known.count < limit else { return (known, session) }
      if isOccupied(session), self[session].isOwned, self[session].phase == .ready,
        !self[session].isUnfollowed, !self[session].isReading
      {
        known.append((self[session].id, self[session].snapshot.workspace, self[session].head))
      }
    }
    return (known, nil)
  }
}

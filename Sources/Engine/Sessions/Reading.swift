import Chat
import Primitives

/// Reads of sessions from the database and mail about them: each at most once at a time.
extension SessionTable {
  /// Reads the state again; on a follower, the entries.
  mutating func reread(_ session: SessionIndex, _ effects: inout Effects) {
    guard self[session].isOwned else {
      readNews(session, &effects)
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

  /// Reads the entries behind the head.
  mutating func readNews(_ session: SessionIndex, _ effects: inout Effects) {
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

  /// Reads the state of every session in memory again: another process changed something.
  mutating func rereadAll(_ effects: inout Effects) {
    for session in indices
    where isOccupied(session) && self[session].isOwned && self[session].phase == .ready {
      reread(session, &effects)
    }
  }

  /// A client may know more although nothing says that this loop is behind: it was on another
  /// gateway, or another loop has read what was committed while the answer was on its way here, or
  /// lost, and the batch is tried once more. It is sent away for a moment while the database is
  /// asked. Once for each place in the log: what is not there then has gone back.
  mutating func mayBeBehind(
    _ session: SessionIndex, _ from: Int64, _ effects: inout Effects
  ) -> Bool {
    guard from > self[session].askedSeq else { return false }
    self[session].askedSeq = from
    reread(session, &effects)
    return true
  }

  /// A command behind a subscribe that waits for its session to load waits with it, so that a
  /// client may send both at once. True when it waits, or was refused.
  mutating func hold(
    _ connection: ConnectionIndex, _ session: Identifier, _ ref: Reference, _ command: RawSpan,
    _ connections: inout ConnectionTable
  ) -> Bool {
    guard let index = index(of: session), self[index].phase == .loading else { return false }
    let id = connections.id(at: connection)
    guard let position = self[index].waiting.lastIndex(where: { $0.connection == id }) else {
      return false
    }
    if self[index].waiting[position].held.count < Limits.inFlight {
      var copy: [UInt8] = []
      copy.append(command)
      self[index].waiting[position].held.append(copy)
    } else {
      connections.refuse(connection, ref, .rateLimited, retryAfter: 100)
    }
    return true
  }

  /// Entries that were read behind the head.
  mutating func append(_ page: [Entry], to session: SessionIndex) {
    let id = self[session].id
    for entry in page where entry.seq == self[session].head + 1 {
      self[session].log.append(isNote: entry.kind == .note) {
        EventEncoder.message(entry, session: id, to: &$0)
      }
      self[session].snapshot.head = entry.seq
    }
  }

  /// Mails what is new to the loops that follow: one mail for each session, loop and iteration.
  mutating func postLog(_ session: SessionIndex, _ effects: inout Effects) {
    let head = self[session].head
    guard self[session].isOwned, self[session].postedSeq < head else { return }
    let from = max(self[session].postedSeq + 1, self[session].log.first)
    self[session].postedSeq = head
    guard self[session].followers != 0 else { return }
    let part = self[session].log.part(from: from)
    effects.post(.log(session: self[session].id, part), toEach: self[session].followers)
  }

  /// Asks for the due marks of a session to be stored.
  mutating func storeMarks(_ session: SessionIndex, _ effects: inout Effects, now: Instant) {
    guard self[session].isOwned else { return }
    for position in self[session].unstoredMarks.takeDue(now) {
      effects.read(
        .storeMark(
          session: loadedID(at: session), self[session].id,
          workspace: self[session].snapshot.workspace, self[session].snapshot.marks[position]))
    }
  }

  /// The frames of a session that nobody follows are not kept for somebody who may come: they are
  /// most of its memory, and the database has them.
  mutating func forgetRecent(_ session: SessionIndex, now: Instant) {
    guard self[session].subscribers.isEmpty, !self[session].log.isEmpty, !self[session].isDirty,
      self[session].phase == .ready,
      now.milliseconds(since: self[session].idleSince) >= Limits.recentIdleMilliseconds
    else { return }
    emptyLog(session)
  }

  /// The workspace of a session as far as it is known: the key by which the store finds its rows.
  func workspace(of id: Identifier) -> Identifier? {
    guard let session = index(of: id) else { return nil }
    return self[session].phase == .ready
      ? self[session].snapshot.workspace : self[session].workspaceHint
  }

  /// Followed sessions of this loop and the head that it knows of each, to be compared with the
  /// database; with the index to go on from, nil behind the last one.
  func followed(
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

import Chat
public import Primitives

/// What other loops say.
extension Engine {
  public mutating func deliver(_ item: Mail) {
    switch item {
    case .follow(let session, let workspace, let loop): follow(session, workspace, loop)
    case .unfollow(let session, let loop):
      guard let index = sessions.index(of: session) else { return }
      sessions[index].followers &= ~(1 << UInt64(loop))
      if sessions[index].phase == .loading {
        sessions[index].waitingFollowers &= ~(1 << UInt64(loop))
      }
      sessions[index].idleSince = now
      sessions.followersChanged(index)
    case .append(let item): append(item)
    case .changed(let session, let workspace): changed(session, of: workspace)
    case .markRequest(let session, let workspace, let mark):
      guard let index = sessions.index(of: session), sessions[index].phase == .ready,
        sessions[index].snapshot.workspace == workspace
      else { return }
      raise(mark, index)
    case .typingRequest(let item):
      guard let index = sessions.index(of: item.session), sessions[index].phase == .ready else {
        return
      }
      spread(item, index)
    case .snapshot(let session, let result, let store): followed(session, result, from: store)
    case .log(let session, let part): followerLog(session, part)
    case .state(let snapshot): followerState(snapshot)
    case .mark(let session, let mark):
      guard let index = sessions.ready(session) else { return }
      adopt(mark, index)
    case .typing(let item):
      guard let index = sessions.index(of: item.session), sessions[index].phase == .ready else {
        return
      }
      fanOut.show(item, index, loop: self.loop, sessions, &connections)
    case .presenceRequest(let item):
      presence.spread(item, sessions, &connections, &effects)
    case .presenceQuery(let session, let loop, let connection):
      presence.answer(
        session, loop: loop, connection: connection, sessions, &connections, &effects)
    case .presence(let item):
      presence.show(item, loop: loop, sessions, &connections)
    case .queue(let item):
      queuePositions.show(item, &sessions, &connections, &fanOut, &effects)
    case .outcome(let reply):
      sending.deliver(reply, sessions, &connections, &effects)
    case .storeReplaced(let loop): forgetSessions(ofLoop: loop)
    case .watch(let workspace, let loop, let isOn):
      inbox.noteWatch(workspace, loop: loop, isOn)
    case .inbox(let workspace, let frame): inbox.show(workspace, frame, &connections)
    }
  }

  private mutating func follow(_ session: Identifier, _ workspace: Identifier?, _ loop: Int) {
    guard let index = loadAnew(session, of: workspace) else {
      effects.post(.snapshot(session: session, .failure(.unavailable), store: store), to: loop)
      return
    }
    let bit: UInt64 = 1 << UInt64(loop)
    guard sessions[index].phase == .ready else {
      sessions[index].waitingFollowers |= bit
      return
    }
    // What the followers have not been mailed yet is in this snapshot's head, so mail it to the
    // others first.
    sessions.postLog(index, &effects)
    sessions[index].followers |= bit
    sessions.followersChanged(index)
    effects.post(
      .snapshot(session: session, .success(sessions[index].snapshot), store: store), to: loop)
  }

  /// The database holds something that this loop did not write: a claim, a close, another node's
  /// message.
  public mutating func changed(_ session: Identifier, of workspace: Identifier? = nil) {
    let owner = effects.owner(of: session)
    guard owner == loop else {
      effects.post(.changed(session: session, workspace: workspace), to: owner)
      return
    }
    if let index = sessions.index(of: session) {
      sessions.reread(index, &effects)
    } else {
      touchInbox(ofUnloaded: session, of: workspace)
    }
  }

  /// Entries from the owner. What does not fit behind the head is read from the database.
  private mutating func followerLog(_ session: Identifier, _ part: LogPart) {
    guard let index = sessions.ready(session) else { return }
    let head = sessions[index].head
    guard part.first == head + 1 else {
      if part.last > head { sessions.readNews(index, &effects) }
      return
    }
    sessions[index].log.append(part)
    sessions[index].snapshot.head = part.last
    touch(index)
  }

  private mutating func followerState(_ snapshot: SessionSnapshot) {
    guard let index = sessions.index(of: snapshot.id), sessions[index].phase == .ready else {
      return
    }
    if snapshot.epoch != sessions[index].snapshot.epoch {
      startOver(index, snapshot)
      return
    }
    sessions[index].snapshot.status = snapshot.status
    sessions[index].snapshot.assignee = snapshot.assignee
    sessions[index].snapshot.title = snapshot.title
    announceState(index)
  }
}

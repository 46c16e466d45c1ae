import Chat
public import Primitives

/// Mail from other loops.
extension Engine {
  public mutating func deliver(_ item: Mail) {
    switch item {
    case .follow(let session, let workspace, let loop): follow(session, workspace, loop)
    case .unfollow(let session, let loop):
      sessions.removeFollower(loop, of: session, now: now)
    case .append(let item): append(item)
    case .changed(let session, let workspace): changed(session, of: workspace)
    case .markRequest(let session, let workspace, let mark):
      guard let index = sessions.ready(session), sessions[index].snapshot.workspace == workspace
      else { return }
      fanOut.raise(mark, index, &sessions, &connections, &inbox, &effects, now: now)
    case .typingRequest(let item): fanOut.spread(item, sessions, &connections, &effects)
    case .snapshot(let session, let result, let store): followed(session, result, from: store)
    case .log(let session, let part):
      if let index = sessions.append(part, to: session, &effects) { touch(index) }
    case .state(let snapshot): followerState(snapshot)
    case .mark(let session, let mark):
      guard let index = sessions.ready(session) else { return }
      fanOut.adopt(mark, index, &sessions, &connections)
    case .typing(let item): fanOut.show(item, loop: loop, sessions, &connections)
    case .presenceRequest(let item):
      presence.spread(item, sessions, &connections, &effects)
    case .presenceQuery(let session, let loop, let connection):
      presence.answer(
        session, loop: loop, connection: connection, sessions, &connections, &effects)
    case .peer(let signal, let gateway): signal.deliver(to: &self, from: gateway)
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

  /// On the owner: another loop follows a session.
  private mutating func follow(_ session: Identifier, _ workspace: Identifier?, _ loop: Int) {
    guard
      let index = sessions.loadCurrent(session, of: workspace, &presence, &effects, now: now)
    else {
      effects.post(.snapshot(session: session, .failure(.unavailable), store: store), to: loop)
      return
    }
    guard sessions[index].phase == .ready else {
      sessions[index].waitingFollowers.insert(loop)
      return
    }
    // The new follower's snapshot includes entries that were not mailed yet. The others get them
    // first.
    sessions.postLog(index, &effects)
    sessions[index].followers.insert(loop)
    sessions.followersChanged(index)
    effects.post(
      .snapshot(session: session, .success(sessions[index].snapshot), store: store), to: loop)
  }

  /// Another writer has changed a session in the database: a claim, a close, a message of another
  /// gateway.
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

  /// On a following loop: the owner's state.
  private mutating func followerState(_ snapshot: SessionSnapshot) {
    guard let index = sessions.ready(snapshot.id) else { return }
    if snapshot.epoch != sessions[index].snapshot.epoch {
      startOver(index, snapshot)
      return
    }
    sessions[index].adoptState(of: snapshot)
    fanOut.announceState(index, sessions, &connections, &effects)
  }
}

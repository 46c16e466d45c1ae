import Chat
import Primitives
import Wire

/// The database is another one than before: a standby was promoted, or a backup restored. It may
/// lack entries that this gateway and its clients have seen.
///
/// So nothing in memory is kept: the sessions are removed and their connections closed. A client
/// that reconnects finds another epoch and receives `resync`. Clients take the same path after a
/// crash of the gateway.
extension Engine {
  /// This loop's writer has reached another database.
  public mutating func storeReplaced() {
    effects.postToOthers(.storeReplaced(loop: loop))
    forgetSessions(ofLoop: nil)
  }

  /// On a following loop: the owner's response to `Mail.follow`. This loop combines the owner's
  /// head with pages that it reads itself, so both must come from the same database. Two loops
  /// notice a new database at different times; until both have, the session is unavailable. Later
  /// mail is in order: the owner posts `storeReplaced`, on which this loop forgets the session,
  /// before anything new.
  mutating func followed(
    _ session: Identifier, _ result: Result<SessionSnapshot, LoadFault>, from store: String
  ) {
    guard case .success = result, store != self.store else {
      sessionLoaded(session, result)
      return
    }
    effects.post(.unfollow(session: session, loop: loop), toOwnerOf: session)
    sessionLoaded(session, .failure(.unavailable))
  }

  /// - Parameter owner: the loop whose writer has reached another database; nil for this loop,
  ///   which forgets all sessions.
  mutating func forgetSessions(ofLoop owner: Int?) {
    for index in sessions.indices
    where sessions.isOccupied(index)
      && (owner == nil || effects.owner(of: sessions[index].id) == owner)
    {
      while let subscriber = sessions[index].subscribers.last {
        close(subscriber.connection, .rebalance, "the database has changed")
      }
      let session = sessions.remove(index, &presence)
      for item in session.waiting where connections.contains(item.connection) {
        close(item.connection.index, .rebalance, "the database has changed")
      }
      effects.post(
        .snapshot(session: session.id, .failure(.unavailable), store: store),
        toEach: session.waitingFollowers)
    }
  }
}

import Chat
import Primitives
import Wire

/// The database is not the one that was there before: a standby was promoted, or a backup restored.
/// The log may have gone back behind what this gateway and its clients have seen.
///
/// Nothing in memory may have happened, so nothing of it is kept: the sessions are forgotten and
/// their connections closed. A client that comes back finds another epoch and is sent `resync`. The
/// same path as after a crash of the gateway, which is tried more often than one of its own would
/// be.
extension Engine {
  /// This loop's writer has reached another database.
  public mutating func storeReplaced() {
    effects.postToOthers(.storeReplaced(loop: loop))
    forgetSessions(ofLoop: nil)
  }

  /// A follower shows the owner's head and its own reader's pages: they must come from the same
  /// database. Two loops learn of another one at different moments; until both have, nothing is
  /// shown. What comes later is in order: the owner says so before it shows anything new, and this
  /// loop forgets all it follows.
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

  /// - Parameter owner: the loop whose writer has reached another database; nil for this one, whose
  ///   sessions are all forgotten.
  mutating func forgetSessions(ofLoop owner: Int?) {
    for index in sessions.indices
    where sessions.isOccupied(index)
      && (owner == nil || effects.owner(of: sessions[index].id) == owner)
    {
      while let subscriber = sessions[index].subscribers.last {
        close(subscriber.connection, .rebalance, "the database has changed")
      }
      let session = forget(index)
      for item in session.waiting where connections.contains(item.connection) {
        close(item.connection.index, .rebalance, "the database has changed")
      }
      effects.post(
        .snapshot(session: session.id, .failure(.unavailable), store: store),
        toEach: session.waitingFollowers)
    }
  }
}

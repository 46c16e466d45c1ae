package import Chat
package import Postgres

/// What one connection of the writer does: it connects, then appends one part of a batch after the
/// other, a transaction each. `PipelinedConnection` does it over libpq; the simulator has one that
/// delays, refuses and forgets as its seed says, under the same writer.
package protocol AppendConnection: ~Copyable {
  /// -1 when there is none.
  var descriptor: Int32 { get }
  var wantsWrite: Bool { get }
  /// The outcomes of the last part that was committed, one for each of its rows, in order.
  var outcomes: [Outcome] { get }

  /// Sends these rows as one transaction. False when the connection is of no use any more.
  mutating func append(_ batch: borrowing Batch, _ rows: [Int]) -> Bool
  /// Sends a transaction without rows, which the store must be able to carry out all the same:
  /// `committed` or `refused` follows. `spilling`: it takes some room on the disk, and gives it
  /// back. False as above.
  mutating func probe(spilling: Bool) -> Bool
  /// Moves bytes in both directions; never waits.
  mutating func exchange()
  /// What the exchange brought, one event after the other; nil when there is no more.
  mutating func next() -> AppendEvent?
}

package enum AppendEvent: Sendable {
  /// Connected, and its statements are prepared. `store` names the database: the same name after
  /// every reconnection, unless the log may have gone back.
  case ready(store: String)
  /// COMMIT was received: `outcomes` holds.
  case committed
  /// The transaction failed and is being rolled back; the next one may follow.
  case refused(ServerRefusal)
  /// The connection is gone. Whether the last transaction was committed is not known.
  case lost(reason: String)
}

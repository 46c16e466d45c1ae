package import Chat
package import Postgres

/// A connection of the writer: it connects, and appends parts of a batch, one transaction each.
/// `PipelinedConnection` works over libpq; the simulator has one with delays, refusals and losses
/// by seed.
package protocol AppendConnection: ~Copyable {
  /// -1 without a socket.
  var descriptor: Int32 { get }
  var wantsWrite: Bool { get }
  /// The outcomes of the last committed transaction, one for each of its rows, in order. A fenced
  /// one leaves the rows of a session that it has not stored `unavailable`.
  var outcomes: [Outcome] { get }

  /// Sends these rows as one transaction.
  ///
  /// - Parameter isFenced: the heads of all sessions are known. The rows of a session with another
  ///   head, or one that needs a decision, are left.
  /// - Returns: false if the connection has failed.
  mutating func append(_ batch: borrowing Batch, _ rows: [Int], isFenced: Bool) -> Bool
  /// Sends a transaction without rows, to test whether the store works: `committed` or `refused`
  /// follows.
  ///
  /// - Parameter spilling: the transaction also writes to the disk, temporarily.
  /// - Returns: false if the connection has failed.
  mutating func probe(spilling: Bool) -> Bool
  /// Sends and receives bytes; never blocks.
  mutating func exchange()
  /// The next event of the last exchange; nil if there are no more.
  mutating func next() -> AppendEvent?
}

package enum AppendEvent: Sendable {
  /// Connected, with prepared statements. `store` is the name of the database; it changes only if
  /// the log may have gone back.
  case ready(store: String)
  /// COMMIT was received; `outcomes` is valid.
  case committed
  /// The transaction failed and is being rolled back; the next one may be sent.
  case refused(ServerRefusal)
  /// The connection is lost. It is unknown whether the last transaction was committed.
  case lost(reason: String)
}

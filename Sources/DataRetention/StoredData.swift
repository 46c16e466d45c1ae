/// The administration of conversations outside of the gateway: import from another system,
/// retention, erasure and export of one visitor's data, quarantine, and the epoch of a restored
/// database. Long operations run in batches, each a transaction, and can be interrupted and run
/// again.
import Migrator
public import Postgres
public import Primitives

public struct StoredData {
  let connection: BlockingConnection

  public init(_ connection: BlockingConnection) { self.connection = connection }

  func number(
    _ sql: StaticString, _ parameters: [Parameter] = []
  ) throws(QueryFailure) -> Int64 {
    let rows = try connection.run(Query(sql, parameters))
    return rows.isEmpty ? 0 : rows.int(0, 0) ?? 0
  }

  /// Writes a line to the audit log; run it in the transaction of the action itself.
  func audit(
    _ action: String, workspace: Identifier, target: Identifier?, details: [(String, Int64)]
  ) throws(QueryFailure) {
    let json = details.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")
    try connection.run(
      Query(
        """
        INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
        VALUES ($1, 'command', $2, $3, $4)
        """,
        [.uuid(workspace), .text(action), .uuid(target), .json(Array("{\(json)}".utf8))]))
  }

  /// Counts all messages and conversations.
  public func counts() throws(QueryFailure) -> (messages: Int64, conversations: Int64) {
    (
      messages: try number("SELECT count(*) FROM chats"),
      conversations: try number("SELECT count(*) FROM chat_sessions")
    )
  }

  /// Makes running gateways reload the sessions in their memory, within seconds.
  func announceChanges() throws(QueryFailure) {
    try connection.run(Query("UPDATE database_epoch SET generation = generation + 1"))
  }
}

// MARK: The epoch

extension StoredData {
  /// The database's part of every session's epoch, which changes when the database was restored.
  public struct Epoch: Sendable, Equatable {
    /// The suffix of every session's epoch; empty until the first change.
    public var epoch: String
    public var changedAt: WallTime
  }

  /// Whether the tables exist: the first migrations have run.
  public static func exists(in connection: BlockingConnection) throws(QueryFailure) -> Bool {
    try connection.run(Query("SELECT to_regclass('database_epoch') IS NOT NULL")).bool(0, 0) == true
  }

  public func epoch() throws(QueryFailure) -> Epoch {
    let rows = try connection.run(Query("SELECT epoch, changed_at FROM database_epoch"))
    return Epoch(
      epoch: rows.isEmpty ? "" : rows.text(0, 0) ?? "",
      changedAt: rows.isEmpty
        ? WallTime(microseconds: 0) : rows.time(0, 1) ?? WallTime(microseconds: 0))
  }

  /// Changes the epoch if the database's fingerprint is not the recorded one.
  /// - Returns: whether it changed.
  @discardableResult
  public static func renewIfRestored(_ connection: BlockingConnection) throws(QueryFailure) -> Bool
  {
    try connection.run(renewal(onlyIfRestored: true)).affected > 0
  }

  public func renewEpoch() throws(QueryFailure) {
    try connection.run(StoredData.renewal(onlyIfRestored: false))
  }

  /// Records that the database has moved to another cluster with all of its data, so that it does
  /// not count as restored.
  public func adoptFingerprint() throws(QueryFailure) {
    try connection.run(Query("UPDATE database_epoch SET fingerprint = chirrup_fingerprint()"))
  }

  private static func renewal(onlyIfRestored: Bool) -> Query {
    Query(
      """
      UPDATE database_epoch SET epoch = '-' || left(md5(gen_random_uuid()::text), 8),
        fingerprint = chirrup_fingerprint(), generation = generation + 1, changed_at = now()
      WHERE NOT $1 OR fingerprint <> chirrup_fingerprint()
      """, [.bool(onlyIfRestored)])
  }
}

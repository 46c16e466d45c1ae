/// Deletes conversations that are older than their retention period: whole sessions, so that the
/// numbers of the remaining ones have no holes.
public import Migrator
public import Postgres
public import Primitives

extension StoredData {
  /// The expired sessions of one workspace, with the number of their messages.
  public struct Expired: Sendable, Equatable {
    public var workspace: Identifier
    public var workspaceName: String
    public var sessions: Int64
    public var messages: Int64
  }

  /// The most messages that one transaction deletes, unless a single session has more.
  public static let messagesPerBatch: Int64 = 5_000
  /// The most visitors that one transaction deletes.
  public static let visitorsPerBatch: Int64 = 2_000

  /// Counts closed and deleted sessions without a message in the last `days` days. Changes nothing.
  public func expired(
    days: Int, workspace: Identifier?
  ) throws(QueryFailure) -> [Expired] {
    let rows = try connection.run(
      Query(
        """
        SELECT w.id, w.name, count(*), coalesce(sum(s.last_seq), 0)::bigint
        FROM chat_sessions s JOIN workspaces w ON w.id = s.workspace_id
        WHERE (s.status = 'closed' OR s.deleted_at IS NOT NULL)
          AND greatest(s.last_message_at, s.created_at, s.closed_at)
            < now() - $1 * interval '1 day'
          AND ($2::uuid IS NULL OR s.workspace_id = $2::uuid)
        GROUP BY w.id ORDER BY w.name, w.id
        """, [.int(Int64(days)), .uuid(workspace)]))
    return (0..<rows.count).compactMap { row in
      guard let id = rows.uuid(row, 0) else { return nil }
      return Expired(
        workspace: id, workspaceName: rows.text(row, 1) ?? "", sessions: rows.int(row, 2) ?? 0,
        messages: rows.int(row, 3) ?? 0)
    }
  }

  /// Deletes these sessions in batches, and visitors without remaining sessions who were not seen
  /// since.
  public func removeExpired(
    days: Int, workspace: Identifier?, report: (MoveProgress) -> Void = { _ in }
  ) throws -> [Expired] {
    var removed: [Expired] = []
    let all = try expired(days: days, workspace: workspace)
    var progress = MoveProgress(
      title: "messages removed", rowsTotal: all.reduce(0) { $0 + $1.messages })
    let clock = ContinuousClock()
    let start = clock.now
    for item in all {
      var done = Expired(
        workspace: item.workspace, workspaceName: item.workspaceName, sessions: 0, messages: 0)
      while true {
        let (sessions, messages) = try removeBatch(days: days, of: item.workspace)
        if sessions == 0 { break }
        done.sessions += sessions
        done.messages += messages
        progress.rowsDone += messages
        progress.milliseconds = Int64((clock.now - start) / .milliseconds(1))
        report(progress)
      }
      let visitors = try removeVisitors(days: days, of: item.workspace, report: report)
      try connection.transaction { _ in
        try audit(
          "sessions.expired", workspace: item.workspace, target: nil,
          details: [
            ("days", Int64(days)), ("sessions", done.sessions), ("messages", done.messages),
            ("visitors", visitors),
          ])
        try announceChanges()
      }
      removed.append(done)
    }
    return removed
  }

  /// Deletes sessions with their messages. Skips sessions that another transaction is writing to.
  private func removeBatch(
    days: Int, of workspace: Identifier
  ) throws(QueryFailure) -> (sessions: Int64, messages: Int64) {
    let rows = try connection.run(
      Query(
        StoredData.batchSQL,
        [.uuid(workspace), .int(Int64(days)), .int(StoredData.messagesPerBatch)]))
    return (rows.int(0, 0) ?? 0, rows.int(0, 1) ?? 0)
  }

  private static let batchSQL: StaticString = """
    WITH old AS MATERIALIZED (
      SELECT id, last_seq FROM chat_sessions
      WHERE workspace_id = $1 AND (status = 'closed' OR deleted_at IS NOT NULL)
        AND greatest(last_message_at, created_at, closed_at) < now() - $2 * interval '1 day'
      ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED
    ), chosen AS (
      SELECT id, last_seq FROM (
        SELECT *, sum(last_seq) OVER (ORDER BY id) AS upto, row_number() OVER (ORDER BY id) AS n
        FROM old) AS o
      WHERE upto <= $3 OR n = 1
    ), gone AS (
      DELETE FROM chat_sessions s USING chosen c WHERE s.workspace_id = $1 AND s.id = c.id
      RETURNING c.last_seq
    ), refused AS (
      DELETE FROM quarantine q USING chosen c WHERE q.workspace_id = $1 AND q.session_id = c.id
    )
    SELECT count(*), coalesce(sum(last_seq), 0)::bigint FROM gone
    """

  /// Deletes visitors without sessions who were not seen since, in batches in the order of their
  /// ids. They are not counted first: the search takes most of the time.
  private func removeVisitors(
    days: Int, of workspace: Identifier, report: (MoveProgress) -> Void
  ) throws(QueryFailure) -> Int64 {
    var progress = MoveProgress(title: "visitors removed", rowsTotal: nil)
    let clock = ContinuousClock()
    let start = clock.now
    var last = Identifier.zero
    while true {
      let rows = try connection.run(
        Query(
          StoredData.visitorsSQL,
          [
            .uuid(workspace), .int(Int64(days)), .uuid(last), .int(StoredData.visitorsPerBatch),
          ]))
      guard let end = rows.uuid(0, 1) else { return progress.rowsDone }
      last = end
      progress.rowsDone += rows.int(0, 0) ?? 0
      progress.milliseconds = Int64((clock.now - start) / .milliseconds(1))
      report(progress)
    }
  }

  private static let visitorsSQL: StaticString = """
    WITH page AS MATERIALIZED (
      SELECT v.id FROM visitors v
      WHERE v.workspace_id = $1 AND v.id > $3 AND v.last_seen_at < now() - $2 * interval '1 day'
        AND v.banned_at IS NULL
        AND NOT EXISTS (SELECT FROM chat_sessions s
          WHERE s.workspace_id = $1 AND s.user_id = v.id)
      ORDER BY v.id LIMIT $4
    ), gone AS (
      DELETE FROM visitors v USING page p
      WHERE v.workspace_id = $1 AND v.id = p.id
        AND v.last_seen_at < now() - $2 * interval '1 day' AND v.banned_at IS NULL
      RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), (SELECT id FROM page ORDER BY id DESC LIMIT 1)
    """
}

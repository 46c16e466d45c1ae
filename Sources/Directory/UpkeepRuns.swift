import Postgres
public import Primitives

/// The last run of a task of upkeep, in the table `upkeep_runs`: gateways that have just started,
/// and those that do no upkeep, know it from there.
public struct UpkeepRun: Sendable, Equatable {
  public enum Outcome: String, Sendable {
    /// Nothing is left to do.
    case done
    case failed
    /// The window has closed before.
    case interrupted
  }

  public var task: String
  /// Since when the settings include the task.
  public var since: WallTime
  public var end: End?
  /// The end of the last run with the outcome `done`.
  public var succeededAt: WallTime?

  public struct End: Sendable, Equatable {
    public var at: WallTime
    public var milliseconds: Int64
    public var rows: Int64
    public var outcome: Outcome

    public init(at: WallTime, milliseconds: Int64, rows: Int64, outcome: Outcome) {
      self.at = at
      self.milliseconds = milliseconds
      self.rows = rows
      self.outcome = outcome
    }
  }

  public init(
    task: String, since: WallTime, end: End? = nil, succeededAt: WallTime? = nil
  ) {
    self.task = task
    self.since = since
    self.end = end
    self.succeededAt = succeededAt
  }

  private static let columns: SQL =
    "task, since, ended_at, milliseconds, rows, outcome, succeeded_at"

  /// Whether the database has the table, which one of an older version does not.
  public static let isThere = Statement(Query("SELECT to_regclass('upkeep_runs') IS NOT NULL")) {
    $0.bool(0, 0) == true
  }

  /// All of them.
  public static let all = Statement<[UpkeepRun]>(
    Query("SELECT \(columns) FROM upkeep_runs"), answer: rows)

  /// Notes which tasks the settings include from now on. A task that is turned off and on again
  /// begins anew.
  ///
  /// - Parameters:
  ///   - excluded: other tasks that this gateway knows; a newer one may know more.
  /// - Returns: all of them.
  public static func register(
    _ included: [String], excluding excluded: [String], now: WallTime
  ) -> Statement<[UpkeepRun]> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM upkeep_runs WHERE task = ANY (string_to_array($2::text, ' '))
        ), added AS (
          INSERT INTO upkeep_runs (task, since)
          SELECT task, $3::timestamptz FROM string_to_table($1::text, ' ') AS task
          ON CONFLICT (task) DO NOTHING RETURNING \(columns)
        )
        SELECT * FROM added
        UNION ALL SELECT \(columns) FROM upkeep_runs
        WHERE task <> ALL (string_to_array($2::text, ' '))
        """,
        [
          .text(included.joined(separator: " ")), .text(excluded.joined(separator: " ")),
          .time(now),
        ]), answer: rows)
  }

  /// Stores the end of a run. Returns whether its task is registered.
  public static func store(
    _ end: End, of task: String, succeededAt: WallTime?
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        UPDATE upkeep_runs SET ended_at = $2::timestamptz, milliseconds = $3::bigint,
          rows = $4::bigint, outcome = $5::text,
          succeeded_at = coalesce($6::timestamptz, succeeded_at)
        WHERE task = $1::text
        """,
        [
          .text(task), .time(end.at), .int(end.milliseconds), .int(end.rows),
          .text(end.outcome.rawValue), succeededAt.map { .time($0) } ?? .null,
        ])
    ) { $0.affected > 0 }
  }

  private static func rows(_ rows: Rows) -> [UpkeepRun] {
    (0..<rows.count).compactMap { row in
      guard let task = rows.text(row, 0), let since = rows.time(row, 1) else { return nil }
      var run = UpkeepRun(task: task, since: since, succeededAt: rows.time(row, 6))
      if let at = rows.time(row, 2), let outcome = rows.text(row, 5).flatMap(Outcome.init) {
        run.end = End(
          at: at, milliseconds: rows.int(row, 3) ?? 0, rows: rows.int(row, 4) ?? 0,
          outcome: outcome)
      }
      return run
    }
  }
}

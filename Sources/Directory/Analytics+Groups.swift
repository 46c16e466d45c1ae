import Postgres
public import Primitives

/// The figures of a period and of the one of the same length before it, of each operator, team,
/// channel or tag. A conversation with two tags counts for both.
extension Analytics {
  public enum Grouping: CaseIterable, Sendable { case operators, teams, channels, tags }

  public struct Group: Sendable, Equatable {
    /// The id of the operator or team, or the name of the channel or tag.
    public var key: String
    /// Empty if the operator or team is gone.
    public var name: String
    public var figures: Figures
    public var previous: Figures
  }

  /// Groups with a conversation in the period, the busiest first.
  public static func groups(
    _ grouping: Grouping, of workspace: Identifier, from: String, to: String, limit: Int
  ) -> Statement<[Group]> {
    let sql =
      switch grouping {
      case .operators: operatorsSQL
      case .teams: teamsSQL
      case .channels: channelsSQL
      case .tags: tagsSQL
      }
    return Statement(
      Query(sql, [.uuid(workspace), .date(from), .date(to), .int(Int64(limit))]).plannedAnew()
    ) { rows in
      (0..<rows.count).map { row in
        Group(
          key: rows.text(row, 0) ?? "", name: rows.text(row, 1) ?? "",
          figures: Figures(rows, row, from: 2),
          previous: Figures(rows, row, from: 2 + Figures.columns))
      }
    }
  }

  // MARK: The statements

  private static let operatorsSQL = sql(
    amounts: workspaceAmounts(by: "operator_id", of: "<> '00000000-0000-0000-0000-000000000000'"),
    open: openMessages(by: "f.operator_id", from: firstDay),
    name: "(SELECT p.name FROM operators p WHERE p.id = n.key)")

  private static let teamsSQL = sql(
    amounts: groupAmounts(of: "'team'", by: "name"),
    open: openMessages(by: "f.team_id::text", from: firstDay),
    name: """
      (SELECT t.name FROM chat_teams t WHERE t.workspace_id = $1::uuid AND t.id = n.key::uuid)
      """)

  private static let channelsSQL = sql(
    amounts: channelAmounts(by: "s.channel"), open: openMessages(by: "s.channel", from: firstDay),
    name: "n.key")

  private static let tagsSQL = sql(
    amounts: groupAmounts(of: "'tag'", by: "name"),
    open: openMessages(by: "g.tag", from: firstDay, with: ", unnest(f.tags) AS g (tag)"),
    name: "n.key")

  /// The first day of the period before.
  static let firstDay: SQL = "($2::date - ($3::date - $2::date) - 1)"

  private static func sql(amounts: SQL, open: SQL, name: SQL) -> SQL {
    """
    \(figures(amounts: amounts, open: open))
    SELECT n.key::text, \(name), \(columns(of: "n")), \(columns(of: "b"))
    FROM figures n LEFT JOIN figures b ON b.is_before AND b.key = n.key
    WHERE NOT n.is_before
    ORDER BY n.sessions DESC, n.key LIMIT $4::bigint
    """
  }

  /// The figures by key, of the period and of the one before it. A percentile is the upper end of
  /// the bucket in which it lies, of the distribution that the days have together.
  static func figures(amounts: SQL, open: SQL) -> SQL {
    """
    WITH amounts AS (
      \(amounts)
    ), sums AS MATERIALIZED (
      SELECT s.*, sum(s.amount) OVER (whole ORDER BY s.bucket) AS upto,
        sum(s.amount) OVER whole AS whole
      FROM amounts s
      WINDOW whole AS (PARTITION BY s.is_before, s.key, s.metric)
    ), open AS MATERIALIZED (
      \(open)
    ), figures AS MATERIALIZED (
      SELECT s.is_before, s.key,
        coalesce(sum(s.amount) FILTER (WHERE s.metric = 'sessions'), 0)::bigint AS sessions,
        \(numbers(of: "s.amount")),
        (coalesce(sum(s.amount) FILTER (WHERE s.metric = 'messages'), 0) + coalesce(
          (SELECT o.amount FROM open o WHERE o.is_before = s.is_before AND o.key = s.key), 0)
          )::bigint AS messages,
        \(times)
      FROM sums s GROUP BY 1, 2
    )
    """
  }

  /// Rows are sorted by it, which takes several times as long by the rules of a language.
  private static let metric: SQL = "metric COLLATE \"C\" AS metric"

  /// The days of everybody or of each operator, as amounts in buckets.
  static func workspaceAmounts(
    by key: SQL, of operators: SQL, from first: SQL = firstDay
  ) -> SQL {
    """
    SELECT day < $2::date AS is_before, \(key) AS key, \(metric), bucket,
        sum(sessions) AS amount
      FROM chat_analytics_buckets
      WHERE workspace_id = $1::uuid AND day BETWEEN \(first) AND $3::date
        AND operator_id \(operators) AND metric <> 'hour'
      GROUP BY 1, 2, 3, 4
      UNION ALL
      SELECT day < $2::date, \(key), m.\(metric), 0, sum(m.amount)
      FROM chat_analytics, LATERAL (VALUES ('sessions', sessions), ('messages', messages))
        AS m (metric, amount)
      WHERE workspace_id = $1::uuid AND day BETWEEN \(first) AND $3::date
        AND operator_id \(operators)
      GROUP BY 1, 2, 3
    """
  }

  /// The days of teams or tags; `name` is the condition for one of them.
  static func groupAmounts(
    of kind: SQL, by key: SQL, name: SQL = "", from first: SQL = firstDay
  ) -> SQL {
    """
    SELECT day < $2::date AS is_before, \(key) AS key, \(metric), bucket,
        sum(amount) AS amount
      FROM chat_analytics_groups
      WHERE workspace_id = $1::uuid AND kind = \(kind) \(name)
        AND day BETWEEN \(first) AND $3::date
      GROUP BY 1, 2, 3, 4
    """
  }

  /// The same of channels, which are not counted by day before: the conversations are read. Those
  /// whose rows are gone belong to no channel.
  static func channelAmounts(by key: SQL, name: SQL = "", from first: SQL = firstDay) -> SQL {
    """
    SELECT r.is_before, r.key, CASE WHEN grouping(r.wait) = 0 THEN 'wait'
          WHEN grouping(r.response) = 0 THEN 'first_response'
          WHEN grouping(r.resolution) = 0 THEN 'resolution'
          WHEN grouping(r.rating) = 0 THEN 'rating'
          WHEN grouping(r.messages) = 0 THEN 'messages' ELSE 'sessions' END COLLATE "C" AS metric,
        coalesce(r.wait, r.response, r.resolution, r.rating, 0)::smallint AS bucket,
        CASE WHEN grouping(r.messages) = 0 THEN count(*) * r.messages ELSE count(*) END AS amount
      FROM (
        SELECT f.day < $2::date AS is_before, \(key) AS key, chirrup_bucket(f.wait_ms) AS wait,
          chirrup_bucket(f.first_response_ms) AS response,
          chirrup_bucket(f.resolution_ms) AS resolution, f.rating, f.messages
        FROM chat_analytics_sessions f
        JOIN chat_sessions s ON s.workspace_id = f.workspace_id AND s.id = f.session_id
        WHERE f.workspace_id = $1::uuid AND f.day BETWEEN \(first) AND $3::date \(name)
        OFFSET 0) AS r
      GROUP BY r.is_before, r.key,
        GROUPING SETS ((), (r.wait), (r.response), (r.resolution), (r.rating), (r.messages))
      HAVING grouping(r.wait, r.response, r.resolution, r.rating, r.messages) = 31
        OR coalesce(r.wait, r.response, r.resolution, r.rating, r.messages) IS NOT NULL
    """
  }

  /// The messages of conversations that are not closed. Counting them with each message would cost
  /// every message something; these conversations are few.
  static func openMessages(
    by key: SQL, from first: SQL, with more: SQL = "", where condition: SQL = ""
  ) -> SQL {
    """
    SELECT f.day < $2::date AS is_before, \(key) AS key,
        sum(s.message_count - f.messages) AS amount
      FROM chat_analytics_sessions f\(more), LATERAL (
        SELECT c.message_count, c.channel FROM chat_sessions c
        WHERE c.workspace_id = $1::uuid AND c.id = f.session_id OFFSET 0) AS s
      WHERE f.workspace_id = $1::uuid AND f.day BETWEEN \(first) AND $3::date
        AND f.resolution_ms IS NULL \(condition)
      GROUP BY 1, 2
    """
  }

  /// The numbers of conversations that have a time, and of each rating.
  private static func numbers(of amount: SQL) -> SQL {
    """
    sum(\(amount)) FILTER (WHERE metric = 'wait')::bigint AS claimed,
        sum(\(amount)) FILTER (WHERE metric = 'first_response')::bigint AS answered,
        sum(\(amount)) FILTER (WHERE metric = 'resolution')::bigint AS closed,
        sum(\(amount)) FILTER (WHERE metric = 'rating' AND bucket = 1)::bigint AS stars1,
        sum(\(amount)) FILTER (WHERE metric = 'rating' AND bucket = 2)::bigint AS stars2,
        sum(\(amount)) FILTER (WHERE metric = 'rating' AND bucket = 3)::bigint AS stars3,
        sum(\(amount)) FILTER (WHERE metric = 'rating' AND bucket = 4)::bigint AS stars4,
        sum(\(amount)) FILTER (WHERE metric = 'rating' AND bucket = 5)::bigint AS stars5
    """
  }

  private static let times: SQL = """
    \(time(of: "'wait'", "0.5")) AS wait50, \(time(of: "'wait'", "0.9")) AS wait90,
        \(time(of: "'first_response'", "0.5")) AS response50,
        \(time(of: "'first_response'", "0.9")) AS response90,
        \(time(of: "'resolution'", "0.5")) AS resolution50,
        \(time(of: "'resolution'", "0.9")) AS resolution90
    """

  private static func time(of metric: SQL, _ part: SQL) -> SQL {
    """
    chirrup_bucket_end(
          min(bucket) FILTER (WHERE metric = \(metric) AND upto >= \(part) * whole)::smallint)
    """
  }

  /// The columns of `Figures`.
  static func columns(of row: SQL) -> SQL {
    """
    \(row).sessions, \(row).claimed, \(row).answered, \(row).closed, \(row).messages, \(row).stars1,
      \(row).stars2, \(row).stars3, \(row).stars4, \(row).stars5, \(row).wait50, \(row).wait90,
      \(row).response50, \(row).response90, \(row).resolution50, \(row).resolution90
    """
  }
}

extension Analytics.Figures {
  static let columns = 16

  /// Columns: sessions, claimed, answered, closed, messages, five numbers of ratings, six times.
  init(_ rows: Rows, _ row: Int, from column: Int) {
    self.init()
    let numbers = (column..<column + 10).map { rows.int(row, $0) ?? 0 }
    (sessions, claimed, answered) = (numbers[0], numbers[1], numbers[2])
    (closed, messages) = (numbers[3], numbers[4])
    stars = Array(numbers[5...])
    times = (column + 10..<column + Self.columns).map { rows.int(row, $0) }
  }
}

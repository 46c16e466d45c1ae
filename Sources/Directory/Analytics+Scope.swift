public import Postgres
public import Primitives

/// The figures of a period as a whole, by day and by hour: of all conversations of a workspace, or
/// of one operator, team, channel or tag.
extension Analytics {
  public enum Scope: Sendable, Equatable {
    case all
    case ofOperator(Identifier)
    case ofTeam(Identifier)
    case onChannel(String)
    case withTag(String)

    /// The key of its rows. The rows of all conversations have an empty operator.
    public var key: Parameter {
      switch self {
      case .all: .text("00000000-0000-0000-0000-000000000000")
      case .ofOperator(let id), .ofTeam(let id): .text(id.description)
      case .onChannel(let name), .withTag(let name): .text(name)
      }
    }

    /// Follows the conditions on a counted session `f`; `$4` is the key.
    public var condition: SQL { sql.condition }

    fileprivate var sql: ScopeSQL {
      switch self {
      case .all: .all
      case .ofOperator: .ofOperator
      case .ofTeam: .ofTeam
      case .onChannel: .onChannel
      case .withTag: .withTag
      }
    }
  }

  /// The figures of the period, and of the one of the same length before it.
  public static func total(
    of scope: Scope, in workspace: Identifier, from: String, to: String
  ) -> Statement<(now: Figures, before: Figures)> {
    Statement(query(scope.sql.total, scope, workspace, from, to)) { rows in
      guard !rows.isEmpty else { return (Figures(), Figures()) }
      return (Figures(rows, 0, from: 0), Figures(rows, 0, from: Figures.columns))
    }
  }

  /// Every day of the range, including days without conversations.
  public static func days(
    of scope: Scope, in workspace: Identifier, from: String, to: String
  ) -> Statement<[(day: String, figures: Figures)]> {
    Statement(query(scope.sql.days, scope, workspace, from, to)) { rows in
      (0..<rows.count).map { (rows.text($0, 0) ?? "", Figures(rows, $0, from: 1)) }
    }
  }

  /// The number of new conversations by weekday (Monday first) and hour.
  public static func hours(
    of scope: Scope, in workspace: Identifier, from: String, to: String
  ) -> Statement<[[Int64]]> {
    Statement(query(scope.sql.hours, scope, workspace, from, to)) { rows in
      var hours = Array(repeating: [Int64](repeating: 0, count: 24), count: 7)
      for row in 0..<rows.count {
        guard let day = rows.int(row, 0), let hour = rows.int(row, 1),
          let count = rows.int(row, 2), (1...7).contains(day), (0...23).contains(hour)
        else { continue }
        hours[Int(day) - 1][Int(hour)] = count
      }
      return hours
    }
  }

  private static func query(
    _ sql: SQL, _ scope: Scope, _ workspace: Identifier, _ from: String, _ to: String
  ) -> Query {
    Query(sql, [.uuid(workspace), .date(from), .date(to), scope.key]).plannedAnew()
  }
}

/// The statements of a kind of scope. `$4` is its key.
private struct ScopeSQL {
  let total, days, hours, condition: SQL

  static let all = ScopeSQL(ofOperators: "")
  static let ofOperator = ScopeSQL(ofOperators: "AND f.operator_id = $4::text::uuid")
  static let ofTeam = ScopeSQL(ofGroups: "'team'", "AND f.team_id = $4::text::uuid")
  static let onChannel = ScopeSQL(
    { Analytics.channelAmounts(by: $0, name: "AND s.channel = $4::text", from: $1) },
    where: """
      AND (SELECT c.channel FROM chat_sessions c
        WHERE c.workspace_id = f.workspace_id AND c.id = f.session_id) = $4::text
      """)
  static let withTag = ScopeSQL(ofGroups: "'tag'", "AND f.tags @> ARRAY[$4::text]")

  private init(ofOperators condition: SQL) {
    self.init(
      { Analytics.workspaceAmounts(by: $0, of: "= $4::text::uuid", from: $1) },
      where: condition,
      hours: """
        SELECT extract(isodow FROM day)::integer, bucket, sum(sessions)::bigint
        FROM chat_analytics_buckets
        WHERE workspace_id = $1::uuid AND day BETWEEN $2::date AND $3::date
          AND operator_id = $4::text::uuid AND metric = 'hour'
        GROUP BY 1, 2
        """)
  }

  /// The hours of teams, channels and tags are not counted by day before, so their conversations
  /// are read.
  private init(ofGroups kind: SQL, _ condition: SQL) {
    self.init(
      { Analytics.groupAmounts(of: kind, by: $0, name: "AND name = $4::text", from: $1) },
      where: condition)
  }

  private init(_ amounts: (_ key: SQL, _ first: SQL) -> SQL, where condition: SQL) {
    self.init(
      amounts, where: condition,
      hours: """
        SELECT extract(isodow FROM f.day)::integer, f.hour, count(*)
        FROM chat_analytics_sessions f
        WHERE f.workspace_id = $1::uuid AND f.day BETWEEN $2::date AND $3::date
          \(condition)
        GROUP BY 1, 2
        """)
  }

  /// - Parameter amounts: the amounts by a key, from a day on.
  private init(
    _ amounts: (_ key: SQL, _ first: SQL) -> SQL, where condition: SQL, hours: SQL
  ) {
    let first = Analytics.firstDay
    total = """
      \(Analytics.figures(
        amounts: """
          \(amounts("''", first))
          UNION ALL SELECT false, '', 'sessions', 0, 0
          """,
        open: Analytics.openMessages(by: "''", from: first, where: condition)))
      SELECT \(Analytics.columns(of: "n")), \(Analytics.columns(of: "b"))
      FROM figures n LEFT JOIN figures b ON b.is_before
      WHERE NOT n.is_before
      """
    days = """
      \(Analytics.figures(
        amounts: amounts("day", "$2::date"),
        open: Analytics.openMessages(by: "f.day", from: "$2::date", where: condition)))
      SELECT d.day::date::text, \(Analytics.columns(of: "n"))
      FROM generate_series($2::date, $3::date, interval '1 day') AS d (day)
      LEFT JOIN figures n ON n.key = d.day::date
      ORDER BY d.day
      """
    self.hours = hours
    self.condition = condition
  }
}

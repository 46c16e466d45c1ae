/// `chirrup demo-data`, whose conversations can be drawn again.
import Fixtures
import Foundation
import Kernel
import Postgres
import Testing

@Suite struct DemoDataTests {
  private func run(_ arguments: [String], on url: String) throws -> Int32 {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let binary = (own as NSString).deletingLastPathComponent + "/chirrup"
    var command = Command(binary, arguments + ["--database-url", url])
    command.output = .capture
    command.errors = .capture
    guard case .exited(let status) = try ChildProcess.run(command).status else { return -1 }
    return status
  }

  private static let drawn: StaticString = """
    SELECT json_agg(json_build_array(v.name, v.email, s.status, s.operator_name,
      s.last_message_preview, s.message_count, s.context,
      CASE WHEN s.status = 'closed' THEN array[s.created_at, s.closed_at] END, r.rating, r.comment,
      (SELECT json_agg(c.content ORDER BY c.seq) FROM chats c WHERE c.session_id = s.id)
    ) ORDER BY s.created_at)::text
    FROM workspaces w JOIN chat_sessions s ON s.workspace_id = w.id
      JOIN visitors v ON v.id = s.user_id LEFT JOIN csat_responses r ON r.session_id = s.id
    WHERE w.name LIKE 'seed-_-' || $1::text GROUP BY w.name ORDER BY w.name
    """

  @Test("demo-data draws the same conversations from the same seed, and others from another one")
  func seeds() throws {
    let url = try EmptyDatabase().url
    #expect(try run(["migrate", "up"], on: url) == 0)
    let connection = try BlockingConnection(url)
    let hour: StaticString = "SELECT date_trunc('hour', now())::text"
    // The times are relative to the hour, which may end between two runs.
    for attempt in 1...2 {
      let began = try connection.texts(hour)
      for (name, seed) in [("seed-a", "5"), ("seed-b", "5"), ("seed-c", "6")] {
        let workspace = "\(name)-\(attempt)"
        #expect(try run(["workspace", "create", workspace], on: url) == 0)
        let fill = [
          "demo-data", "--workspace", workspace, "--conversations", "60", "--seed", seed,
        ]
        #expect(try run(fill, on: url) == 0)
      }
      guard try connection.texts(hour) == began else { continue }
      let rows = try connection.texts(DemoDataTests.drawn, [.text("\(attempt)")])
      #expect(
        try connection.number("SELECT count(*) FROM chat_sessions WHERE status <> 'closed'")
          == Int64(9 * attempt), "three of each are open")
      #expect(rows.count == 3 && rows[0] == rows[1] && rows[1] != rows[2])
      return
    }
    Issue.record("the hour ended twice")
  }

  /// What the analytics compare: each team has closed conversations, and targets that were met and
  /// missed as its times say.
  @Test("demo-data makes three teams, whose targets are met and missed")
  func teams() throws {
    let url = try EmptyDatabase().url
    #expect(try run(["migrate", "up"], on: url) == 0)
    #expect(try run(["workspace", "create", "shop"], on: url) == 0)
    for _ in 1...2 {
      let fill = ["demo-data", "--workspace", "shop", "--conversations", "600"]
      #expect(try run(fill, on: url) == 0)
    }
    let connection = try BlockingConnection(url)
    let teams = try connection.texts(
      """
      SELECT format('%s: %s members', t.name, (SELECT count(*) FROM chat_team_members m
        WHERE m.team_id = t.id)) FROM chat_teams t ORDER BY t.name
      """)
    #expect(teams == ["Orders: 3 members", "Sales: 2 members", "Workshop: 2 members"])
    let targets = try connection.run(
      Query(
        """
        SELECT count(DISTINCT t.team_id),
          count(*) FILTER (WHERE t.first_response_missed_at IS NULL),
          count(t.first_response_missed_at), count(t.resolution_missed_at),
          count(*) FILTER (WHERE t.team_id IS DISTINCT FROM s.team_id OR s.status <> 'closed'
            OR (t.first_response_missed_at IS NULL)
              <> (s.first_response_at <= t.first_response_due_at)
            OR (t.resolution_missed_at IS NULL) <> (s.closed_at <= t.resolution_due_at))
        FROM chat_targets t JOIN chat_sessions s ON s.id = t.session_id
        """))
    let counts = (0..<5).map { targets.int(0, $0) ?? -1 }
    #expect(counts[0] == 3 && counts[1...3].allSatisfy { $0 > 0 } && counts[4] == 0, "\(counts)")
  }

  /// Charts of it show what they can: busy and quiet hours and weekdays, operators who differ, good
  /// and bad ratings, many languages.
  @Test("demo-data has the hours, weekdays, operators, ratings and languages of a shop")
  func shop() throws {
    let url = try EmptyDatabase().url
    #expect(try run(["migrate", "up"], on: url) == 0)
    #expect(try run(["workspace", "create", "shop"], on: url) == 0)
    let fill = ["demo-data", "--workspace", "shop", "--conversations", "4000"]
    #expect(try run(fill, on: url) == 0)
    let connection = try BlockingConnection(url)

    /// How many times as much the most of the groups has as the least.
    func spread(_ sql: SQL) throws -> Double {
      let rows = try connection.run(
        Query(
          """
          SELECT count(*), coalesce(round(100.0 * max(n) / min(n)), 0)::bigint
          FROM (\(sql)) AS groups (n)
          """))
      #expect((rows.int(0, 0) ?? 0) > 1)
      return Double(rows.int(0, 1) ?? 0) / 100
    }
    let days = try spread(
      "SELECT count(*) FROM chat_sessions GROUP BY extract(isodow FROM created_at)")
    #expect(days > 1.5, "the busiest weekday has \(days) times the conversations of the quietest")
    let hours = try spread(
      "SELECT count(*) FROM chat_sessions GROUP BY extract(hour FROM created_at)")
    #expect(hours > 4, "the busiest hour has \(hours) times the conversations of the quietest")
    let pace = try spread(
      """
      SELECT percentile_cont(0.5) WITHIN GROUP (
        ORDER BY extract(epoch FROM first_response_at - claimed_at))
      FROM chat_sessions WHERE first_response_at > claimed_at GROUP BY operator_name
      HAVING count(*) > 50
      """)
    #expect(pace > 1.3, "the slowest operator takes \(pace) times as long as the fastest")
    let moods = try spread("SELECT count(*) FROM csat_responses GROUP BY rating")
    #expect(moods > 2, "the most frequent rating is \(moods) times as frequent as the rarest")
    let languages: StaticString = """
      SELECT count(DISTINCT split_part(context ->> 'locale', '-', 1)) FROM chat_sessions
      """
    #expect(try connection.number(languages) == 9)
    #expect(try connection.number("SELECT count(DISTINCT rating) FROM csat_responses") == 5)
  }
}

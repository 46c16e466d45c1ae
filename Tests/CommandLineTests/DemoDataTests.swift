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
}

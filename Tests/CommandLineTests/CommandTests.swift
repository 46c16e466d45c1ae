/// The administration commands as an administrator runs them: the binary on a database, with its
/// output, its refusals and its exit status.
import Fixtures
import Foundation
import Kernel
import Postgres
import Testing

/// Serialized: the commands use one database, one after another.
@Suite(.serialized) struct CommandTests {
  /// The binary beside the test bundle.
  private static let binary: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return (own as NSString).deletingLastPathComponent + "/chirrup"
  }()

  private struct Run {
    /// -1 for a signal.
    var status: Int32
    /// Standard output, and standard error after it.
    var text: String

    /// The members of each line, which must be a JSON object.
    func objects() throws -> [[String: any Sendable]] {
      try text.split(separator: "\n").map { line in
        let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
        let object = try #require(value as? [String: Any], "\(line)")
        return object.compactMapValues { value in
          switch value {
          case let text as String: text
          case let number as Int: number
          case let list as [String]: list
          default: nil
          }
        }
      }
    }
  }

  private static func run(_ arguments: [String], on url: String) throws -> Run {
    var command = Command(binary, arguments + ["--database-url", url])
    command.output = .capture
    command.errors = .capture
    let finished = try ChildProcess.run(command)
    guard case .exited(let status) = finished.status else {
      return Run(status: -1, text: finished.text)
    }
    return Run(status: status, text: finished.text)
  }

  /// A database with this version's schema, the workspace "shop" and its first operator.
  private let url: String

  private static let prepared: Result<String, any Error> = Result {
    let url = try EmptyDatabase().url
    #expect(try run(["migrate", "up"], on: url).status == 0)
    #expect(
      try run(["workspace", "create", "shop", "--public-key", "pk_shop_1"], on: url).status == 0)
    #expect(
      try run(
        [
          "operator", "create", "--workspace", "shop", "--email", "ada@example.com", "--name",
          "Ada",
          "--password", "correct horse",
        ], on: url
      ).status == 0)
    return url
  }

  init() throws { url = try CommandTests.prepared.get() }

  private func run(_ arguments: String...) throws -> Run {
    try CommandTests.run(arguments, on: url)
  }

  // MARK: serve

  @Test("with log.format json, serve writes only JSON: migrations, the start and a failure too")
  func jsonLog() throws {
    let empty = try EmptyDatabase().url
    // An address that no machine has ends the start after the migrations.
    let run = try CommandTests.run(
      ["serve", "--log-format", "json", "--listen", "192.0.2.1:1", "--admin-listen", "none"],
      on: empty)
    #expect(run.status == 1, "\(run.text)")
    let lines = try run.objects()
    #expect(lines.contains { $0["finished"] is String && $0["milliseconds"] is Int })
    #expect(lines.last?["level"] as? String == "critical")
    #expect((lines.last?["message"] as? String)?.contains("192.0.2.1") == true)
  }

  // MARK: migrate

  @Test("pending migrations: plan and status exit with 2, other commands refuse to run")
  func pendingMigrations() throws {
    let empty = try EmptyDatabase().url
    func run(_ arguments: String...) throws -> Run { try CommandTests.run(arguments, on: empty) }
    let plan = try run("migrate", "plan", "--json")
    #expect(plan.status == 2)
    #expect(try plan.objects().first?["revision"] is String)
    #expect(try run("migrate", "status").status == 2)
    for arguments in [
      ["workspace", "create", "x"], ["retention", "--days", "1"], ["quarantine", "list"], ["epoch"],
      ["audit", "prune", "--days", "1"],
      ["token", "visitor", "--workspace", "x"], ["analytics", "count"],
      ["analytics", "recompute"], ["demo-data"],
      ["operator", "disable", "--email", "a@b"],
    ] {
      let refused = try CommandTests.run(arguments, on: empty)
      #expect(refused.status == 1, "\(arguments)")
      #expect(refused.text.contains("migrations are pending"), "\(arguments): \(refused.text)")
    }
  }

  @Test("a migrated database has nothing to do, passes its checks, and is reverted only with --yes")
  func migrated() throws {
    let up = try run("migrate", "up", "--json")
    #expect(up.status == 0)
    #expect(try up.objects().last?["applied"] as? [String] == [])
    #expect(try run("migrate", "plan").status == 0)
    #expect(try run("migrate", "verify").status == 0)
    #expect(try run("migrate", "repair").text.contains("No problems found."))
    let down = try run("migrate", "down", "--to", "none")
    #expect(down.status == 1 && down.text.contains("run it again with --yes"))
    #expect(try run("migrate", "status").status == 0)
  }

  @Test("without an answer of PostgreSQL the exit status is 4, with --json in an object")
  func unavailable() throws {
    let nowhere = "postgresql:///chirrup?host=/nonexistent"
    for arguments in [["migrate", "status"], ["epoch"], ["quarantine", "list"]] {
      #expect(try CommandTests.run(arguments, on: nowhere).status == 4, "\(arguments)")
    }
    let object = try CommandTests.run(["epoch", "--json"], on: nowhere).objects().first
    #expect(object?["exit_code"] as? Int == 4 && object?["error"] is String)
  }

  // MARK: workspace and operator

  @Test("a workspace's name and key are unique; its origins are replaced or removed as a list")
  func workspaces() throws {
    #expect(try run("workspace", "create", "shop").text.contains("already exists"))
    let taken = try run("workspace", "create", "other", "--public-key", "pk_shop_1")
    #expect(taken.status == 1 && taken.text.contains("another workspace has the public key"))
    let set = try run("workspace", "origins", "shop", "--allow", "HTTPS://Example.com:443")
    #expect(set.text == #"{"workspace":"shop","allowed_origins":["https://example.com"]}"# + "\n")
    #expect(try run("workspace", "origins", "shop").text == set.text)
    let removed = try run("workspace", "origins", "shop", "--any")
    #expect(removed.text == #"{"workspace":"shop","allowed_origins":null}"# + "\n")
    let unknown = try run("workspace", "origins", "nowhere")
    #expect(unknown.status == 1 && unknown.text.contains("chirrup workspace create nowhere"))
  }

  @Test(
    "the first operator of a workspace is its owner, later ones are agents unless told otherwise")
  func operators() throws {
    let bob = try run(
      "operator", "create", "--workspace", "shop", "--email", "bob@example.com", "--name", "Bob",
      "--password", "battery staple")
    #expect(try bob.objects().first?["role"] as? String == "agent")
    #expect(try run("workspace", "create", "second").status == 0)
    let again = try run(
      "operator", "create", "--workspace", "second", "--email", "bob@example.com", "--name", "B")
    #expect(again.text.contains("the password has not changed"), "\(again.text)")
    #expect(again.text.contains(#""name":"Bob","role":"owner""#), "\(again.text)")
  }

  @Test("a short password is refused, and an unknown operator is named")
  func operatorRefusals() throws {
    let short = try run("operator", "password", "--email", "ada@example.com", "--password", "short")
    #expect(short.status == 1 && short.text.contains("at least 10 characters"))
    for command in ["disable", "enable"] {
      let unknown = try run("operator", command, "--email", "eve@example.com")
      #expect(unknown.status == 1 && unknown.text.contains("no operator eve@example.com"))
    }
  }

  @Test("a disabled operator gets no token, an enabled one does")
  func disabledOperator() throws {
    let token = ["token", "operator", "--workspace", "shop", "--email", "ada@example.com"]
    #expect(try CommandTests.run(token, on: url).status == 0)
    #expect(try run("operator", "disable", "--email", "ada@example.com").status == 0)
    let refused = try CommandTests.run(token, on: url)
    #expect(refused.status == 1 && refused.text.contains("has no such operator"), "\(refused.text)")
    #expect(try run("operator", "enable", "--email", "ada@example.com").status == 0)
    #expect(try CommandTests.run(token, on: url).status == 0)
  }

  // MARK: Conversations

  /// Fills "shop" once with eight conversations.
  private static let filled: Result<Void, any Error> = Result {
    let url = try prepared.get()
    let filled = try run(
      ["demo-data", "--workspace", "shop", "--conversations", "8", "--open", "2"], on: url)
    #expect(filled.status == 0, "\(filled.text)")
    #expect(filled.text.contains(#"{"workspace":"shop","conversations":8,"open":2}"#))
  }

  @Test("visitors' tokens come with a session and the requested number")
  func visitorTokens() throws {
    let tokens = try run("token", "visitor", "--workspace", "shop", "--count", "3").objects()
    #expect(tokens.count == 3)
    #expect(Set(tokens.compactMap { $0["session"] as? String }).count == 3)
  }

  @Test("a conversation that has changed is counted, and all are counted again")
  func analytics() throws {
    try CommandTests.filled.get()
    let connection = try BlockingConnection(url)
    try connection.execute(
      script: """
        INSERT INTO chat_analytics_pending (workspace_id, session_id)
        SELECT workspace_id, id FROM chat_sessions, generate_series(1, 300)
        """)
    let pending = try connection.number("SELECT count(*) FROM chat_analytics_pending")
    // More than one transaction counts.
    #expect(pending > 2_000)
    let changes = try run("analytics", "count", "--json").objects()
    #expect(changes.first?["changes"] as? Int ?? 0 >= pending)
    #expect(try connection.number("SELECT count(*) FROM chat_analytics_pending") == 0)
    let counted = try run("analytics", "recompute", "--workspace", "shop", "--json").objects()
    #expect(counted.first?["workspace"] as? String == "shop")
    #expect(counted.first?["conversations"] as? Int ?? 0 >= 8)
  }

  @Test("retention deletes nothing without --yes, and only what is old enough with it")
  func retention() throws {
    try CommandTests.filled.get()
    let connection = try BlockingConnection(url)
    let before = try connection.number("SELECT count(*) FROM chat_sessions")
    try connection.execute(
      script: """
        UPDATE chat_sessions SET created_at = '2020-01-01', last_message_at = '2020-01-01',
          closed_at = '2020-01-01' WHERE id = (
            SELECT id FROM chat_sessions WHERE status = 'closed' ORDER BY id LIMIT 1)
        """)
    let planned = try run("retention", "--days", "365")
    #expect(planned.text.contains("would delete 1 sessions"), "\(planned.text)")
    #expect(planned.text.contains("run it again with --yes"))
    #expect(try connection.number("SELECT count(*) FROM chat_sessions") == before)
    let done = try run("retention", "--days", "365", "--yes", "--json").objects()
    #expect(done.last?["sessions"] as? Int == 1, "\(done)")
    #expect(try connection.number("SELECT count(*) FROM chat_sessions") == before - 1)
    #expect(try run("retention", "--days", "365").text.contains("No conversation is old enough."))
  }

  @Test("old entries of the audit log are explained; only the owner removes them, with --yes")
  func audit() throws {
    let connection = try BlockingConnection(url)
    try connection.execute(
      script: """
        INSERT INTO audit_log (workspace_id, actor, action, created_at)
          SELECT id, 'rule', 'login.failed', timestamptz '2020-01-02 03:04:05+00'
            + n * interval '1 hour' FROM workspaces, generate_series(0, 2) n WHERE name = 'shop'
        """)
    let old: StaticString = "SELECT count(*) FROM audit_log WHERE created_at < '2021-01-01'"
    let planned = try run("audit", "prune", "--days", "365", "--workspace", "shop")
    #expect(planned.status == 0)
    #expect(
      planned.text.contains(
        "shop: 3 entries are older than 365 days, the oldest of 2020-01-02T03:04:05"),
      "\(planned.text)")
    #expect(planned.text.contains("run it again with --yes"))
    #expect(try connection.number(old) == 3)
    let gateway = try CommandTests.run(
      ["audit", "prune", "--days", "365", "--yes"], on: Roles.gateway(url))
    #expect(gateway.status == 1 && gateway.text.contains("set migrations_url"), "\(gateway.text)")
    #expect(try connection.number(old) == 3)
    let done = try run("audit", "prune", "--days", "365", "--yes", "--json").objects()
    #expect(done.first?["oldest"] is String && done.last?["entries"] as? Int == 3, "\(done)")
    #expect(done.contains { $0["progress"] as? String == "audit entries removed" })
    #expect(try connection.number(old) == 0)
    #expect(
      try connection.texts(
        "SELECT actor || (details ->> 'entries') FROM audit_log WHERE action = 'audit.pruned'")
        == ["command3"])
    let none = try run("audit", "prune", "--days", "365", "--yes")
    #expect(none.status == 0 && none.text.contains("No entry is old enough."))
    #expect(try run("audit", "prune", "--days", "1", "--workspace", "nowhere").status == 1)
  }

  @Test("a visitor's data is exported, and erased only with --yes")
  func visitors() throws {
    try CommandTests.filled.get()
    let connection = try BlockingConnection(url)
    let id = try #require(
      try connection.texts("SELECT user_id::text FROM chat_sessions WHERE user_id IS NOT NULL")
        .first)
    let export = try run("visitor", "export", "--workspace", "shop", id)
    #expect(try export.objects().count == 1 && export.text.contains(id))
    #expect(try run("visitor", "erase", "--workspace", "shop", id).text.contains("would erase"))
    #expect(try run("visitor", "export", "--workspace", "shop", id).text == export.text)
    #expect(try run("visitor", "erase", "--workspace", "shop", id, "--yes").status == 0)
    let gone = try run("visitor", "export", "--workspace", "shop", id)
    #expect(gone.status == 1 && gone.text.contains("has no visitor \(id)"))
    let malformed = try run("visitor", "export", "--workspace", "shop", "Vera")
    #expect(malformed.status == 1 && malformed.text.contains("is not a visitor id"))
  }

  @Test("an import needs the tables of the other system")
  func lineImport() throws {
    let refused = try run("import", "line-oa", "--workspace", "shop")
    #expect(refused.status == 1 && refused.text.contains("the database needs the tables users"))
  }

  @Test(
    "an import counts the rows that it changes or leaves out, and writes them to a private file")
  func lineImportOfOddRows() throws {
    let database = try Shape("line_odd_rows").database()
    let folder = FileManager.default.temporaryDirectory.appending(path: "odd-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "rows.jsonl").path
    func run(_ arguments: String...) throws -> Run {
      try CommandTests.run(arguments, on: database.url)
    }
    #expect(try run("migrate", "repair", "--yes").status == 0)
    #expect(try run("workspace", "create", "line").status == 0)

    let plan = try run("import", "line-oa", "--workspace", "line", "--rows-file", file)
    #expect(plan.text.contains("2 messages without a user: not imported"), "\(plan.text)")
    #expect(!FileManager.default.fileExists(atPath: file))
    let done = try run("import", "line-oa", "--workspace", "line", "--rows-file", file, "--yes")
    #expect(done.status == 0 && done.text.contains("these rows are in \(file)"), "\(done.text)")
    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    let lost = try lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) }
      .compactMap { $0 as? [String: Any] }
      .filter { ($0["reason"] as? String) == "without a user: not imported" }
      .compactMap { ($0["row"] as? [String: Any])?["content"] as? String }
    #expect(lost.sorted() == ["nobody's 1", "nobody's 2"])

    let again = try run("import", "line-oa", "--workspace", "line", "--rows-file", file, "--yes")
    #expect(again.status == 1 && again.text.contains("exists already"), "\(again.text)")
  }

  @Test("an import from Chatwoot prints numbers and reasons, and neither texts nor addresses")
  func chatwootImport() throws {
    let source = try EmptyDatabase(fixture: "chatwoot").url
    func run(_ more: String...) throws -> Run {
      try CommandTests.run(["import", "chatwoot", "--workspace", "bikes"] + more, on: url)
    }
    #expect(try self.run("workspace", "create", "bikes").status == 0)
    let plan = try run("--from", source, "--account", "7", "--dry-run")
    #expect(plan.status == 0, "\(plan.text)")
    #expect(plan.text.contains("would import 2 members, 0 teams, 2 tags, 2 canned replies, 250"))
    #expect(plan.text.contains("run it again with --yes"))
    let done = try run("--from", source, "--account", "7", "--since", "2024-03-12", "--yes")
    #expect(done.text.contains("36 visitors, 37 conversations, 370 messages"), "\(done.text)")
    #expect(done.text.contains("Chatwoot messages: 370 of 370 rows"), "\(done.text)")
    #expect(done.text.contains("1 users without a valid e-mail address: not imported (3)"))
    #expect(!done.text.contains("line 1") && !done.text.contains("bikes.example"))

    let dead = "postgresql://127.0.0.1:1/x?password=hidden"
    for (arguments, reason) in [
      (["--from", source, "--account", "9"], "has no account 9"),
      (["--from", url, "--account", "7"], "not a Chatwoot database"),
      (["--from", dead, "--account", "7"], "does not answer"),
      (["--from", source, "--account", "7", "--since", "yesterday"], "--since must be a day"),
      (["--from", source, "--account", "7", "--batch", "0"], "--batch must be 1 to 1000"),
      (["--from", source, "--account", "7", "--yes", "--dry-run"], "exclude each other"),
    ] {
      let refused = try CommandTests.run(
        ["import", "chatwoot", "--workspace", "bikes"] + arguments, on: url)
      #expect(refused.status != 0 && refused.text.contains(reason), "\(refused.text)")
      #expect(!refused.text.contains("hidden"))
    }
  }

  @Test("a refused message is listed and shown without terminal controls; purge needs --yes")
  func quarantine() throws {
    let connection = try BlockingConnection(url)
    try connection.execute(
      script: """
        INSERT INTO quarantine (workspace_id, message_id, session_id, role, kind, sender_name, body,
            payload, sqlstate, reason, created_at)
          SELECT id, '018f0000-0000-7000-8000-000000000001', id, 'visitor', 'text', 'Vera',
            '\\x1b5b324a68ff', '', '22021', 'invalid byte sequence', now()
          FROM workspaces WHERE name = 'shop'
        """)
    let listed = try run("quarantine", "list", "--json").objects()
    #expect(listed.map { $0["sqlstate"] as? String } == ["22021"])
    let id = "018f0000-0000-7000-8000-000000000001"
    let shown = try run("quarantine", "show", id, "--json").objects()
    #expect(shown.first?["body"] as? String == "\u{FFFD}[2Jh\u{FFFD}")
    #expect(shown.first?["body_base64"] as? String == "G1sySmj/")
    let released = try run("quarantine", "release", id)
    #expect(released.status == 1 && released.text.contains(id), "\(released.text)")
    #expect(try run("quarantine", "purge").text.contains("would delete 1 messages"))
    #expect(try run("quarantine", "list").text.contains(id))
    #expect(try run("quarantine", "purge", "--yes").text.contains("deleted 1 messages"))
    let missing = try run("quarantine", "show", id)
    #expect(missing.status == 1 && missing.text.contains("the quarantine holds no message"))
  }

  @Test("the epoch changes with --renew only")
  func epoch() throws {
    func epoch(_ run: Run) throws -> String? { try run.objects().first?["epoch"] as? String }
    let first = try epoch(run("epoch", "--json"))
    #expect(try epoch(run("epoch", "--json")) == first)
    let renewed = try epoch(run("epoch", "--renew", "--json"))
    #expect(renewed != nil && renewed != first)
    #expect(try epoch(run("epoch", "--json")) == renewed)
  }
}

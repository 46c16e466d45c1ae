import Fixtures
import Foundation
import Migrator
import Postgres
import Primitives
import Synchronization
import Testing

/// The adoption of a workspace chat, whose messages belong to no session
/// (Tests/Fixtures/legacy/workspace_chat.sql).
@Suite struct WorkspaceChatTests {
  private static let busy = "10000000-0000-4000-8000-000000000001"

  private func verify(_ migrator: Migrator) throws {
    for check in try migrator.verify() {
      #expect(check.passed, "\(check.name): \(check.figures)")
    }
  }

  @Test func `each workspace with messages gets one numbered legacy session and a notice`() throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 12_345)
    let connection = try BlockingConnection(database.url)
    let migrator = try Migrator(connection)
    var notices: [String] = []
    var progress: [MoveProgress] = []
    try migrator.up { event in
      if case .notice(let text) = event { notices.append(text) }
      if case .progress(let moved) = event { progress.append(moved) }
    }
    #expect(notices.count == 3)
    #expect(
      notices.contains {
        $0.hasPrefix("Created legacy session ")
          && $0.hasSuffix(" for workspace \(WorkspaceChatTests.busy) (12345 messages)")
      })
    #expect(progress.map(\.rowsDone) == [5_000, 10_000, 12_345, 12_350, 12_400])
    #expect(progress.allSatisfy { $0.rowsTotal == 12_400 })
    try verify(migrator)
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', right(workspace_id::text, 1), title, status, last_seq, message_count,
          last_message_preview = '' OR last_message_preview IS NOT NULL, user_id IS NOT NULL)
        FROM chat_sessions ORDER BY 1
        """) == [
          "1 Legacy Chat closed 12345 12345 t t", "2 Legacy Chat closed 5 5 t t",
          "4 Legacy Chat closed 50 50 t t",
        ])
    // Rows with equal times are ordered by id, and null users are kept.
    #expect(
      try connection.number(
        """
        SELECT count(*) FROM (SELECT seq, row_number() OVER (
          PARTITION BY workspace_id ORDER BY created_at, id) AS n FROM chats) AS t WHERE seq <> n
        """) == 0)
    #expect(try connection.number("SELECT count(*) FROM chats WHERE user_id IS NULL") > 6_000)
  }

  @Test func `the old application keeps working, and its messages are numbered`() throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 100)
    let connection = try BlockingConnection(database.url)
    try Migrator(connection).up()
    #expect(
      try connection.number(
        """
        SELECT count(*) FROM (SELECT id, role, content, created_at FROM chats
          WHERE workspace_id = '10000000-0000-4000-8000-000000000001' ORDER BY created_at) AS old
        """) == 100)
    let made = try connection.run(
      Query(
        "INSERT INTO workspaces (user_id, name) VALUES ($1, $2) RETURNING id",
        [.uuid(.zero), .text("New")]))
    let workspace = try #require(made.uuid(0, 0))
    for text in ["first", "second"] {
      try connection.run(
        Query(
          "INSERT INTO chats (workspace_id, role, content) VALUES ($1, 'user', $2)",
          [.uuid(workspace), .text(text)]))
    }
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', c.seq, c.content, s.title, s.last_seq) FROM chats c
        JOIN chat_sessions s ON s.id = c.session_id WHERE c.workspace_id = $1 ORDER BY seq
        """, [.uuid(workspace)]) == ["1 first Legacy Chat 2", "2 second Legacy Chat 2"])
    try verify(Migrator(connection))
    try connection.run(Query("DELETE FROM workspaces WHERE id = $1", [.uuid(workspace)]))
    #expect(
      try connection.number(
        "SELECT count(*) FROM chats WHERE workspace_id = $1", [.uuid(workspace)])
        == 0)
    try verify(Migrator(connection))
    // Chirrup's own workspaces have no owner in the old application.
    try connection.execute(script: "INSERT INTO workspaces (name) VALUES ('ours')")
  }

  @Test func `an application's message opens a visitor's new conversation, and closes its own`()
    throws
  {
    let connection = try BlockingConnection(
      EmptyDatabase(fixture: "workspace_chat", rows: 10).url)
    try Migrator(connection).up()
    try connection.execute(
      script: """
        INSERT INTO visitors (id, workspace_id) VALUES
          ('20000000-0000-4000-8000-000000000001', '10000000-0000-4000-8000-000000000001');
        INSERT INTO chat_sessions (id, workspace_id, user_id) VALUES
          ('30000000-0000-4000-8000-000000000001', '10000000-0000-4000-8000-000000000001',
            '20000000-0000-4000-8000-000000000001'),
          ('30000000-0000-4000-8000-000000000002', '10000000-0000-4000-8000-000000000001',
            'a0000000-0000-4000-8000-000000000001');
        INSERT INTO chats (workspace_id, session_id, role, content)
        SELECT workspace_id, id, 'user', 'from the application' FROM chat_sessions
        WHERE id::text LIKE '30000000%';
        """)
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', status, channel, last_seq, waiting_since IS NOT NULL)
        FROM chat_sessions WHERE id::text LIKE '30000000%' ORDER BY id
        """) == ["waiting web 1 t", "closed legacy 1 f"])
  }

  @Test func `after down, the database dump equals the original`() throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 2_000)
    let before = try database.dump()
    let connection = try BlockingConnection(database.url)
    try Migrator(connection).up()
    #expect(try database.dump().schema != before.schema)
    try Migrator(connection).down(to: "none")
    let after = try database.dump()
    #expect(after.schema == before.schema)
    #expect(after.rows == before.rows)
    // The database can move in again.
    try Migrator(connection).up()
    try verify(Migrator(connection))
  }

  @Test func `down converts Chirrup's messages to the old application's format`() throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 10)
    let connection = try BlockingConnection(database.url)
    try connection.execute(script: "COMMENT ON TABLE chats IS 'Ours.'")
    let before = try database.dump().schema
    try Migrator(connection).up()
    try connection.execute(
      script: """
        INSERT INTO workspaces (name) VALUES ('made by Chirrup');
        INSERT INTO chats (workspace_id, session_id, seq, role, kind, content, content_hash)
        SELECT workspace_id, id, last_seq + n, role, kind, 'new ' || role || ' ' || kind, ''
        FROM chat_sessions, (VALUES (1, 'visitor', 'text'), (2, 'operator', 'text'),
          (3, 'operator', 'note'), (4, 'system', 'event')) AS t (n, role, kind)
        WHERE workspace_id = '10000000-0000-4000-8000-000000000001';
        """)
    try Migrator(connection).down(to: "none")
    #expect(
      try connection.texts("SELECT role || ': ' || content FROM chats WHERE content LIKE 'new%'")
        .sorted() == ["assistant: new operator text", "user: new visitor text"])
    #expect(try connection.number("SELECT count(*) FROM workspaces") == 5)
    #expect(try database.dump().schema == before)
  }

  @Test func `a database without messages gets no legacy session and no error`() throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 0)
    let connection = try BlockingConnection(database.url)
    try connection.execute(script: "DELETE FROM chats")
    var notices: [String] = []
    try Migrator(connection).up { if case .notice(let text) = $0 { notices.append(text) } }
    #expect(notices == [])
    #expect(try connection.number("SELECT count(*) FROM chat_sessions") == 0)
    #expect(
      try connection.number("SELECT count(*) FROM pg_proc WHERE proname = 'update_updated_at'") == 1
    )
    try verify(Migrator(connection))
  }

  @Test(arguments: [("now()", true), ("''2000-01-01''", false)])
  func `the old application's update_updated_at is kept, and used if it is equal`(
    value: String, isUsed: Bool
  ) throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 0)
    let connection = try BlockingConnection(database.url)
    try connection.execute(
      script: """
        CREATE FUNCTION update_updated_at() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN NEW.updated_at := \(value); RETURN NEW; END';
        """)
    let before = try database.dump().schema
    try Migrator(connection).up()
    let functions = try connection.texts(
      "SELECT proname::text FROM pg_proc WHERE proname ~ '^(update|chirrup)_updated_at$' ORDER BY 1"
    )
    #expect(functions == (isUsed ? [] : ["chirrup_updated_at"]) + ["update_updated_at"])
    try connection.execute(script: "UPDATE workspaces SET name = name || '!'")
    #expect(
      try connection.number("SELECT count(*) FROM workspaces WHERE updated_at < '2001-01-01'") == 0)
    try verify(Migrator(connection))
    try Migrator(connection).down(to: "none")
    #expect(try database.dump().schema == before)
  }

  @Test func `an interrupted move resumes without lost or duplicate rows`() throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 20_000)
    let other = try BlockingConnection(database.url)
    var batches = 0
    for round in 1...3 {
      let connection = try BlockingConnection(database.url)
      do throws(MigrationFailure) {
        try Migrator(connection).up { event in
          guard case .progress = event else { return }
          batches += 1
          // Like a kill of the process or a crash of the server.
          _ = try? other.run(
            Query(
              """
              SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = current_database() AND pid <> pg_backend_pid()
              """))
        }
        Issue.record("round \(round) did not fail")
      } catch {
        guard case .unavailable = error else {
          Issue.record("\(error)")
          return
        }
      }
      #expect(try other.number("SELECT count(*) FROM chats") == 20_055)
    }
    let moved = try other.number("SELECT count(*) FROM chats WHERE session_id IS NOT NULL")
    #expect(moved >= 15_000 && moved < 20_055)
    let migrator = try Migrator(other)
    #expect(try migrator.status().pending.first == "20260120_add_session_id_to_chats")
    try migrator.up()
    try verify(migrator)
    #expect(try other.number("SELECT count(*) FROM chat_sessions") == 3)
  }

  @Test func `messages inserted during the move are also numbered`() throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 12_000)
    let other = try BlockingConnection(database.url)
    let connection = try BlockingConnection(database.url)
    try Migrator(connection).up { event in
      guard case .progress(let moved) = event else { return }
      _ = try? other.run(
        Query(
          """
          INSERT INTO chats (workspace_id, role, content)
          SELECT id, 'user', 'meanwhile' FROM workspaces
          """))
      #expect(moved.rowsTotal == 12_055)
    }
    try verify(Migrator(connection))
    #expect(try other.number("SELECT count(*) FROM chats WHERE content = 'meanwhile'") > 10)
    #expect(try other.number("SELECT count(*) FROM chat_sessions") == 5)
  }

  @Test func `a table lock of another session is awaited in short attempts`() throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 10)
    let holder = try BlockingConnection(database.url)
    try holder.execute(script: "BEGIN; SELECT count(*) FROM chats")
    let connection = try BlockingConnection(database.url)
    var attempts: [Int] = []
    try Migrator(connection).up { event in
      guard case .blocked(let attempt, _) = event else { return }
      attempts.append(attempt)
      if attempt == 2 { try? holder.execute(script: "COMMIT") }
    }
    #expect(attempts == [1, 2])
  }

  /// Prints the measurements of the move; CHIRRUP_LEGACY_ROWS sets the number of rows.
  @Test func `readers are not blocked for long`() throws {
    // A reader that is blocked by a lock waits for the whole move, in every attempt. A reader that
    // waits for a processor does not.
    let isShort = try (0..<3).contains { _ in
      let (wait, move) = try longestRead()
      return wait > .zero && wait * 3 < move
    }
    #expect(isShort)
  }

  /// Returns the longest read during a move, and the duration of the move.
  private func longestRead() throws -> (wait: Duration, move: Duration) {
    let rows = Int(ProcessInfo.processInfo.environment["CHIRRUP_LEGACY_ROWS"] ?? "") ?? 20_000
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: rows)
    let isOver = Atomic(false)
    let longest = Atomic<Int64>(0)
    let reads = Atomic<Int>(0)
    let reader = Thread { [url = database.url] in
      guard let connection = try? BlockingConnection(url) else { return }
      let clock = ContinuousClock()
      while !isOver.load(ordering: .relaxed) {
        let start = clock.now
        _ = try? connection.run(
          Query(
            """
            SELECT id, role, content, created_at FROM chats
            WHERE workspace_id = '10000000-0000-4000-8000-000000000004' ORDER BY created_at
            """))
        let microseconds = Int64((clock.now - start) / .microseconds(1))
        longest.max(microseconds, ordering: .relaxed)
        reads.add(1, ordering: .relaxed)
      }
    }
    reader.start()
    var last: MoveProgress?
    let move = try ContinuousClock().measure {
      try Migrator(BlockingConnection(database.url)).up { event in
        if case .progress(let progress) = event { last = progress }
      }
    }
    isOver.store(true, ordering: .relaxed)
    // The read in progress may be the longest.
    while !reader.isFinished { Thread.sleep(forTimeInterval: 0.001) }
    let wait = longest.load(ordering: .relaxed)
    print(
      "the move of \(rows) rows: \(last?.rowsPerSecond ?? 0) rows a second; the longest of "
        + "\(reads.load(ordering: .relaxed)) reads beside it took \(wait / 1000) ms of \(move)")
    return (.microseconds(wait), move)
  }
}

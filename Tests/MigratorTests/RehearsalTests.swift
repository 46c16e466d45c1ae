import EmbeddedPostgres
import Fixtures
import Migrator
import Postgres
import Testing

/// The report of a rehearsal: recorded statements of the application, remnants after `down`, and
/// the locks.
@Suite struct RehearsalTests {
  private func migrator(_ database: EmptyDatabase, adding migration: String? = nil) throws
    -> Migrator
  {
    let connection = try BlockingConnection(database.url)
    guard let migration else { return try Migrator(connection) }
    let (migrations, _) = Migration.embedded()
    let text = "-- More.\n-- parent: \(try Chain(migrations).head ?? "")\n\(migration)\n"
    let chain = try Chain(migrations + [try Migration(revision: "20990101_more", text: text)])
    return try Migrator(connection, chain: chain)
  }

  @Test func `a down that leaves a table and loses a row is reported, and nothing is changed`()
    throws
  {
    let database = try Shape("plain").database()
    let before = try database.dump()
    let rehearsal = try migrator(
      database,
      adding: """
        CREATE TABLE left_over (id int);
        DELETE FROM chats WHERE content IN (SELECT min(content) FROM chats);
        -- down
        SELECT 1;
        """
    ).rehearse()
    #expect(!rehearsal.isSuccess)
    #expect(rehearsal.notRestored.contains { $0.hasPrefix("+ relation left_over") })
    #expect(rehearsal.notRestored.contains { $0.hasPrefix("- rows of chats: ") })
    #expect(try database.dump().schema == before.schema)
    #expect(try database.dump().rows == before.rows)
  }

  @Test func `up reports each lock on the application's tables, and none on its own`() throws {
    let database = try Shape("plain").database()
    var locks: [HeldLock] = []
    try migrator(database).up { event in
      if case .locked(_, let held) = event { locks += held }
    }
    #expect(locks.contains { $0.table == "chats" && $0.mode == "AccessExclusiveLock" })
    #expect(Set(locks.map(\.table)).isSubset(of: ["chats", "workspaces"]))
    let plain = try EmptyDatabase()
    try migrator(plain).up { event in
      if case .locked(_, let held) = event { #expect(held.map(\.table) == []) }
    }
  }

  @Test func `the recorded statements of the application are tried before and after`() throws {
    let (cluster, directory) = try ScratchCluster.separate()
    defer {
      cluster.stop()
      ScratchCluster.discard(directory)
    }
    let url = cluster.url
    try BlockingConnection(url).execute(
      script: "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
    cluster.stop()
    try cluster.start()
    let connection = try BlockingConnection(url)
    try Shape("plain").load(into: url)
    try connection.execute(script: "CREATE EXTENSION pg_stat_statements")
    let workspace = "'10000000-0000-4000-8000-000000000001'"
    for statement in [
      "SELECT id, content FROM chats WHERE workspace_id = \(workspace) ORDER BY created_at LIMIT 5",
      "INSERT INTO chats (workspace_id, role, content) VALUES (\(workspace), 'user', 'Hi')",
      "INSERT INTO workspaces (id, user_id, name) VALUES (gen_random_uuid(), \(workspace), 'W')",
      "SELECT count(*) FROM chats WHERE created_at > now() - interval '1 day'",
      "UPDATE chats SET content = 'Ho' WHERE content = 'Hi'",
      "SELECT * FROM chats WHERE user_id IS NULL UNION ALL SELECT * FROM chats LIMIT 1",
    ] { try connection.execute(script: statement) }
    let rows = try connection.number("SELECT count(*) FROM chats")
    let rehearsal = try Migrator(connection).rehearse()
    #expect(rehearsal.recorded.unavailable == nil)
    #expect(rehearsal.recorded.run >= 5, "\(rehearsal.recorded)")
    #expect(rehearsal.broken == [])
    #expect(try connection.number("SELECT count(*) FROM chats") == rows)
    // A migration that takes away what the application reads.
    let (migrations, _) = Migration.embedded()
    let text = """
      -- More.
      -- parent: \(try Chain(migrations).head ?? "")
      ALTER TABLE chats RENAME COLUMN content TO body;
      -- down
      ALTER TABLE chats RENAME COLUMN body TO content;
      """
    let chain = try Chain(migrations + [try Migration(revision: "20990101_more", text: text)])
    let broken = try Migrator(connection, chain: chain).rehearse().broken.map(\.statement)
    #expect(broken.contains { $0.hasPrefix("SELECT id, content FROM chats WHERE") }, "\(broken)")
    #expect(broken.contains { $0.hasPrefix("INSERT INTO chats") })
    #expect(!broken.contains { $0.hasPrefix("SELECT count(*) FROM chats WHERE created_at") })
  }
}

/// Applications that write during a migration: no lock may be awaited while others are held.
@Suite struct LockOrderTests {
  @Test(arguments: ["plain", "guide_half", "guide_applied", "supabase", "own_triggers"])
  func `a step that locks several tables locks them at its start`(name: String) throws {
    let migrator = try Migrator(BlockingConnection(Shape(name).database().url))
    let migrations = Dictionary(
      uniqueKeysWithValues: Migration.embedded().migrations.map { ($0.revision, $0) })
    var revision = ""
    try migrator.up { event in
      switch event {
      case .began(let next, _, _): revision = next
      case .locked(let title, let held):
        let tables = Set(held.map(\.table)).subtracting(["auth.users"])
        guard tables.count > 1, let steps = migrations[revision]?.steps else { return }
        let step = steps.first { $0.title == title } ?? steps.first
        let declared = Set(step?.locks.tables ?? [])
        #expect(declared.isSuperset(of: tables), "\(revision): \(title): \(tables)")
      default: break
      }
    }
  }
}

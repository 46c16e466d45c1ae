import EmbeddedPostgres
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// Gateways of two releases on one schema: what an older one finds at its start, and the migrations
/// that wait until it has gone.
@Suite struct StandingTests {
  private let a = Migration(revision: "20260101_a", parent: nil)
  private let b = Migration(revision: "20260102_b", parent: "20260101_a")

  private func later(
    _ revision: String, after parent: String, compatible: String?, contract: Bool = false
  ) -> Migration {
    var migration = Migration(revision: revision, parent: parent)
    migration.compatible = compatible
    migration.isContract = contract
    return migration
  }

  private func applied(_ migrations: [Migration]) -> [AppliedRevision] {
    migrations.map {
      AppliedRevision(
        revision: $0.revision, checksum: $0.checksum, at: WallTime(microseconds: 0),
        durationMilliseconds: 1, parent: $0.parent, compatible: $0.compatible)
    }
  }

  /// What a release that knows `a` and `b` finds.
  private func standing(_ migrations: [Migration]) throws -> SchemaStanding {
    try MigrationPlan(chain: try Chain([a, b]), applied: applied(migrations)).standing()
  }

  @Test func `an older gateway runs on a schema whose migrations say so`() throws {
    let c = later("20260103_c", after: b.revision, compatible: b.revision)
    let d = later("20260104_d", after: c.revision, compatible: a.revision)
    #expect(try standing([a, b]) == .current)
    #expect(try standing([a]) == .pending([b]))
    #expect(try standing([a, b, c, d]) == .ahead([c.revision, d.revision]))
  }

  @Test func `it does not if one of them says nothing, or needs a newer release`() throws {
    let silent = later("20260103_c", after: b.revision, compatible: nil)
    let open = later("20260104_d", after: silent.revision, compatible: b.revision)
    let expanding = later("20260103_c", after: b.revision, compatible: b.revision)
    let needing = later(
      "20260104_d", after: expanding.revision, compatible: expanding.revision)
    for (migrations, words) in [
      ([a, b, silent, open], "20260103_c does not say that gateways of an older release"),
      ([a, b, expanding, needing], "20260104_d needs gateways that know 20260103_c"),
      ([a, later("20260103_c", after: a.revision, compatible: a.revision)], "20260102_b of this"),
    ] {
      do {
        _ = try standing(migrations)
        Issue.record("accepted: \(words)")
      } catch {
        guard case MigrationFailure.newerDatabase = error else { throw error }
        #expect("\(error)".contains(words))
        #expect("\(error)".contains("fix: install the chirrup that migrated it"))
      }
    }
  }

  @Test func `only a newer chirrup migrates such a schema`() throws {
    let c = later("20260103_c", after: b.revision, compatible: b.revision)
    let plan = MigrationPlan(chain: try Chain([a, b]), applied: applied([a, b, c]))
    #expect(throws: MigrationFailure.newerDatabase(unknown: [c.revision])) { try plan.upward() }
    #expect(throws: MigrationFailure.newerDatabase(unknown: [c.revision])) {
      try plan.downward(to: "none")
    }
  }

  @Test func `the header of a file is read, and must name a migration before it`() throws {
    let text = "-- c\n-- parent: 20260102_b\n-- compatible: 20260101_a\n-- contract: x\n-- down\n"
    let c = try Migration(revision: "20260103_c", text: text)
    #expect(c.compatible == "20260101_a" && c.isContract)
    #expect(Chain.faults(in: [a, b, c]) == [])
    for compatible in ["20260103_c", "20260109_z", nil] {
      let wrong = later(c.revision, after: b.revision, compatible: compatible, contract: true)
      #expect(
        Chain.faults(in: [a, b, wrong]) == [
          .badCompatible(revision: c.revision, compatible: compatible)
        ])
    }
  }

  /// A release that forgot the header would stop every older gateway that restarts beside it.
  @Test func `each migration after those of the first release with the header has it`() {
    let silent = Migration.embedded().migrations.filter {
      $0.revision > "20261231" && $0.compatible == nil
    }
    #expect(silent.map(\.revision) == [])
  }

  // MARK: Contracts

  @Test func `a contract at the end waits, one before another migration does not`() throws {
    let contract = later("20260103_c", after: b.revision, compatible: b.revision, contract: true)
    let plan = MigrationPlan(chain: try Chain([a, b, contract]), applied: applied([a]))
    #expect(try plan.upward() == [b])
    #expect(try plan.upward(finishing: true) == [b, contract])
    #expect(plan.unfinished == [contract.revision])
    let waiting = MigrationPlan(chain: try Chain([a, b, contract]), applied: applied([a, b]))
    #expect(waiting.isCurrent)
    #expect(try waiting.standing() == .current)
    #expect(try waiting.downward(to: "none") == [b, a])
    let next = later("20260104_d", after: contract.revision, compatible: contract.revision)
    let following = MigrationPlan(
      chain: try Chain([a, b, contract, next]), applied: applied([a, b]))
    #expect(try following.upward() == [contract, next])
    let new = MigrationPlan(chain: try Chain([a, b, contract]), applied: [])
    #expect(try new.upward() == [a, b, contract])
  }

  @Test func `finish waits for the last gateway of the older release`() throws {
    let connection = try BlockingConnection(EmptyDatabase().url)
    let embedded = Migration.embedded().migrations
    let old = try Chain(embedded)
    try Migrator(connection, chain: old).up()
    let head = try #require(old.head)
    let expansion = try Migration(
      revision: "20991230_expand",
      text: """
        -- adds
        -- parent: \(head)
        -- compatible: \(head)
        CREATE TABLE added ();
        -- down
        DROP TABLE added;
        """)
    let contract = try Migration(
      revision: "20991231_contract",
      text: """
        -- takes away
        -- parent: 20991230_expand
        -- compatible: 20991230_expand
        -- contract: the table
        DROP TABLE added;
        -- down
        CREATE TABLE added ();
        """)
    let migrator = try Migrator(connection, chain: try Chain(embedded + [expansion, contract]))
    #expect(try migrator.up().map(\.revision) == [expansion.revision])
    #expect(try migrator.status().standing() == .current)
    #expect(try migrator.verify().filter { !$0.passed } == [])
    let older = try Migrator(connection, chain: old)
    #expect(try older.status().standing() == .ahead([expansion.revision]))

    func run(_ schema: String, process: Int64) throws {
      try connection.run(
        Query(
          """
          INSERT INTO gateways (id, seen_at, version, schema_revision, host, process_id, started_at)
          VALUES (gen_random_uuid(), now(), '1', $1, 'here', $2, now())
          """, [.text(schema), .int(process)]))
    }
    try run(expansion.revision, process: 1)
    try run(head, process: 2)
    do {
      try migrator.up(finishing: true)
      Issue.record("the contract was applied beside an older gateway")
    } catch {
      guard case MigrationFailure.olderGatewaysRun(contract.revision, let gateways) = error else {
        throw error
      }
      #expect(gateways.count == 1)
      #expect("\(error)".contains("process 2 on here"))
    }
    try connection.execute(script: "DELETE FROM gateways WHERE schema_revision = '\(head)'")
    #expect(try migrator.up(finishing: true) == [contract])
    #expect(try migrator.up(finishing: true) == [])
    #expect(throws: MigrationFailure.self) { try older.status().standing() }
    #expect(try migrator.verify().filter { !$0.passed } == [])
  }
}

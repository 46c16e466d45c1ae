import Migrator
import Primitives
import Testing

/// The order of the migration files, and their comparison with a database's revisions. No I/O.
@Suite struct ChainTests {
  private let a = Migration(revision: "20260101_a", parent: nil)
  private let b = Migration(revision: "20260102_b", parent: "20260101_a")
  private let c = Migration(revision: "20260101_c", parent: "20260102_b")

  @Test func `migrations run in the order of their parents, not of their names`() throws {
    #expect(
      try Chain([c, a, b]).migrations.map(\.revision) == [
        "20260101_a", "20260102_b", "20260101_c",
      ])
    #expect(try Chain([]).head == nil)
  }

  @Test func `an orphan is detected`() {
    #expect(
      Chain.faults(in: [a, c]) == [
        .orphan(revision: "20260101_c", parent: "20260102_b"),
        .severalHeads(["20260101_a", "20260101_c"]),
      ])
  }

  @Test func `two heads, two roots and a duplicate are detected`() {
    let other = Migration(revision: "20260103_d", parent: "20260102_b")
    #expect(
      Chain.faults(in: [a, b, c, other]) == [.severalHeads(["20260101_c", "20260103_d"])])
    let apart = Migration(revision: "20260109_apart", parent: nil)
    #expect(
      Chain.faults(in: [a, b, apart]) == [
        .severalRoots(["20260101_a", "20260109_apart"]),
        .severalHeads(["20260102_b", "20260109_apart"]),
      ])
    #expect(Chain.faults(in: [a, b, b]) == [.duplicate(revision: "20260102_b")])
  }

  @Test func `a cycle is detected without a hang`() {
    let x = Migration(revision: "20260201_x", parent: "20260202_y")
    let y = Migration(revision: "20260202_y", parent: "20260201_x")
    #expect(
      Chain.faults(in: [a, b, c, x, y]).contains(.cycle(["20260201_x", "20260202_y"])))
    #expect(throws: MigrationFailure.self) { try Chain([x, y]) }
  }

  @Test func `a file is parsed into parent, summary, losses and statements with lines`() throws {
    let text = """
      -- What it does.
      -- parent: 20260101_a
      -- loses: everything
      -- parent: ignored, since the first counts

      CREATE TABLE t ();

      -- down

      DROP TABLE t;
      """
    let migration = try Migration(revision: "20260102_b", text: text)
    #expect(migration.parent == "20260101_a")
    #expect(migration.summary == "What it does.")
    #expect(migration.loses == "everything")
    #expect(migration.up == [Statement(text: "CREATE TABLE t ()", line: 6)])
    #expect(migration.down == [Statement(text: "DROP TABLE t", line: 10)])
  }

  @Test func `a file without a parent, without a down section or with a bad name is refused`() {
    #expect(throws: ChainFault.noParentLine(revision: "20260102_b")) {
      try Migration(revision: "20260102_b", text: "SELECT 1;\n-- down\n")
    }
    #expect(throws: ChainFault.noDownSection(revision: "20260102_b")) {
      try Migration(revision: "20260102_b", text: "-- x\n-- parent: none\nSELECT 1;\n")
    }
    #expect(throws: ChainFault.badName(revision: "add_b")) {
      try Migration(revision: "add_b", text: "-- parent: none\n-- down\n")
    }
  }

  @Test func `the checksum changes with a statement, not with a comment between statements`() throws
  {
    func checksum(_ body: String) throws -> String {
      try Migration(revision: "20260102_b", text: "-- parent: none\n\(body)\n-- down\n").checksum
    }
    let plain = try checksum("SELECT 1;")
    #expect(try checksum("-- why\nSELECT 1 ;") == plain)
    #expect(try checksum("SELECT 2;") != plain)
    #expect(plain.count == 16)
  }

  // MARK: The plan

  private func applied(_ migrations: Migration...) -> [AppliedRevision] {
    migrations.map {
      AppliedRevision(
        revision: $0.revision, checksum: $0.checksum, at: WallTime(microseconds: 0),
        durationMilliseconds: 1)
    }
  }

  @Test func `up runs the pending migrations, down reverts the newest first`() throws {
    let chain = try Chain([a, b, c])
    let plan = MigrationPlan(chain: chain, applied: applied(a))
    #expect(try plan.upward() == [b, c])
    #expect(try plan.upward(to: "20260102_b") == [b])
    #expect(!plan.isCurrent)
    let full = MigrationPlan(chain: chain, applied: applied(a, b, c))
    #expect(full.isCurrent)
    #expect(try full.upward() == [])
    #expect(try full.downward(to: "20260101_a") == [c, b])
    #expect(try full.downward(to: "none") == [c, b, a])
    #expect(throws: MigrationFailure.noSuchRevision("20990101_z")) {
      try full.upward(to: "20990101_z")
    }
  }

  @Test func `a database newer than the binary is refused in both directions`() throws {
    let newer = Migration(revision: "20990101_newer", parent: "20260101_c")
    let plan = MigrationPlan(chain: try Chain([a, b, c]), applied: applied(a, b, c, newer))
    #expect(plan.lines.map(\.state) == [.applied, .applied, .applied, .unknown])
    #expect(!plan.isCurrent)
    #expect(throws: MigrationFailure.newerDatabase(unknown: ["20990101_newer"])) {
      try plan.upward()
    }
    #expect(throws: MigrationFailure.newerDatabase(unknown: ["20990101_newer"])) {
      try plan.downward(to: "none")
    }
  }

  @Test func `a changed file is reported, and not run again`() throws {
    var changed = b
    changed.up = [Statement(text: "SELECT 1", line: 1)]
    let plan = MigrationPlan(chain: try Chain([a, changed, c]), applied: applied(a, b))
    #expect(plan.changed == ["20260102_b"])
    #expect(try plan.upward() == [c])
  }

  @Test func `a revision applied without its parent is refused`() throws {
    let plan = MigrationPlan(chain: try Chain([a, b, c]), applied: applied(a, c))
    #expect(throws: MigrationFailure.gap(applied: "20260101_c", missing: "20260102_b")) {
      try plan.upward()
    }
  }
}

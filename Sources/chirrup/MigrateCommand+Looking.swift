/// The commands of `chirrup migrate` that change nothing: plan, status, verify, check.
import ArgumentParser
import Migrator
import Primitives

extension MigrateCommand {
  struct Plan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the migrations that up would apply. Changes nothing.",
      discussion: """
        First examines the tables that up would adopt, and prints what it finds: what up refuses \
        (exit code 1), and what it adopts in which way.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The last revision to apply.", valueName: "revision"))
    var to: String?
    @Flag(help: "Also print the SQL.") var sql = false
    @Flag(
      help: ArgumentHelp(
        "Try it in a transaction that is rolled back.",
        discussion: "The tables are locked meanwhile: their readers and writers wait."))
    var rehearse = false
    @Option(
      help: ArgumentHelp(
        "SQL of the older application, which the rehearsal runs too.", valueName: "file"))
    var statements: String?

    func run() async throws {
      try await options.run(as: .owner) { connection, output in
        let migrator = try Migrator(connection)
        let pending = try migrator.plan(to: to)
        let findings = pending.isEmpty ? [] : try migrator.examine()
        for finding in findings { output.note(finding) }
        for migration in pending {
          output.result(
            "\(migration.revision)  \(migration.summary)",
            [
              ("revision", .text(migration.revision)), ("summary", .text(migration.summary)),
              ("parent", migration.parent.map { .text($0) } ?? .null),
              ("sql", sql ? .text(script(of: migration)) : .null),
            ])
          if sql, !options.json { Terminal.result(script(of: migration)) }
        }
        if rehearse, !pending.isEmpty {
          let application = try statements.map { try TextFile.read($0) } ?? ""
          let rehearsal = try migrator.rehearse(
            to: to, application: application, report: output.report)
          output.note(rehearsal)
          guard rehearsal.isSuccess else { throw ExitCode.failure }
        }
        if pending.isEmpty {
          output.note("Nothing to do: the schema is up to date.")
        } else {
          throw findings.contains(where: \.isObstacle) ? ExitCode.failure : Ending.pending
        }
      }
    }

    private func script(of migration: Migration) -> String {
      migration.up.map { $0.text + ";\n" }.joined(separator: "\n")
    }
  }

  struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print each revision: applied, pending, changed or unknown. Changes nothing.")

    @OptionGroup var options: AdministrationOptions

    func run() async throws {
      try await options.run(as: .owner) { connection, output in
        let plan = try Migrator(connection).status()
        for line in plan.lines {
          let state = line.state.rawValue.padded(to: 8)
          let moment = (line.applied?.at.description ?? "").padded(to: 24)
          output.result(
            "\(state)  \(moment)  \(line.revision)  \(line.summary)",
            [
              ("revision", .text(line.revision)), ("state", .text(line.state.rawValue)),
              ("applied_at", line.applied.map { .text($0.at.description) } ?? .null),
              ("milliseconds", line.applied.map { .number($0.durationMilliseconds) } ?? .null),
            ])
        }
        if !plan.newer.isEmpty { throw MigrationFailure.newerDatabase(unknown: plan.newer) }
        if !plan.strays.isEmpty { throw MigrationFailure.strayRevisions(plan.strays) }
        if !plan.pending.isEmpty { throw Ending.pending }
      }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check data and schema; exit 1 if a check fails. Changes nothing.")

    @OptionGroup var options: AdministrationOptions

    func run() async throws {
      try await options.run(as: .owner) { connection, output in
        let checks = try Migrator(connection).verify()
        for check in checks {
          output.result(
            "\(check.passed ? "PASS" : "FAIL")  \(check.name): \(check.figures)",
            [
              ("check", .text(check.name)), ("passed", .bool(check.passed)),
              ("figures", .text(check.figures)),
            ])
        }
        if checks.contains(where: { !$0.passed }) { throw ExitCode.failure }
      }
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check the migration files, without a database.",
      discussion: """
        Finds orphans (their parent is in no file), several heads or roots, cycles, duplicates \
        and malformed files, among those of this binary or, with --folder, of folders.
        """)

    @Option(
      help: ArgumentHelp("A folder with files YYYYMMDD_name.sql. Repeatable.", valueName: "folder"))
    var folder: [String] = []
    @Flag(help: "Print JSON, one object per line.") var json = false

    func run() throws {
      let output = CommandOutput(json: json)
      var files: [(name: String, text: String)] = []
      do {
        for folder in folder {
          for name in try TextFile.names(in: folder) where name.hasSuffix(".sql") {
            files.append((name, try TextFile.read(folder + "/" + name)))
          }
        }
      } catch {
        output.report(error, code: .failure)
        throw ExitCode.failure
      }
      let faults = folder.isEmpty ? Migrator.check() : Migrator.check(files)
      for fault in faults {
        output.result(fault.description, [("fault", .text(fault.description))])
      }
      guard faults.isEmpty else { throw ExitCode.failure }
      output.note("The migrations form one chain without gaps.")
    }
  }
}

extension CommandOutput {
  func note(_ finding: PreflightFinding) {
    note(
      "\(finding)",
      [
        ("table", .text(finding.table)), ("object", .text(finding.object)),
        ("problem", .text(finding.problem)), ("rows", finding.rows.map { .number($0) } ?? .null),
        ("example", finding.example.map { .text($0) } ?? .null),
        ("action", .text(finding.action)), ("mend", .text(finding.remedy)),
        ("refused", .bool(finding.isObstacle)),
      ])
  }
}

extension String {
  func padded(to columns: Int) -> String {
    self + String(repeating: " ", count: max(0, columns - count))
  }
}

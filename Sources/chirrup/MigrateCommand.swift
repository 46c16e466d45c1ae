/// `chirrup migrate`: inspects, migrates, verifies and repairs the schema.
import ArgumentParser
import Migrator
import Postgres
import Settings

struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Migrate the database's schema to this version, or inspect it.",
    discussion: """
      Exit codes: 0 success, or nothing to do; 1 failure, or a failed check; 2 plan and status: \
      migrations are pending; 3 the database is newer than this chirrup; 4 PostgreSQL does not \
      answer; 64 wrong usage. See config/DATABASE.md.
      """,
    subcommands: [
      Plan.self, Up.self, Finish.self, Status.self, Down.self, Verify.self, Check.self, Stamp.self,
      Repair.self,
    ])
}

/// The exit codes of administration commands.
enum Ending {
  static let pending = ExitCode(2)
  static let newerDatabase = ExitCode(3)
  static let unavailable = ExitCode(4)

  static func code(for failure: any Error) -> ExitCode {
    switch failure {
    case let code as ExitCode: code
    case MigrationFailure.newerDatabase: newerDatabase
    case MigrationFailure.unavailable, QueryFailure.unavailable, ScriptFailure.unavailable:
      unavailable
    default: .failure
    }
  }
}

/// The flags of every administration command.
struct AdministrationOptions: ParsableArguments {
  @OptionGroup var data: DataOptions
  @Flag(help: "Print JSON, one object per line.") var json = false

  /// Runs a command on the database. Prints an error, as JSON with `--json`, and turns it into the
  /// exit code.
  func run(
    as user: Database.User = .gateway, _ body: (BlockingConnection, CommandOutput) throws -> Void
  ) async throws {
    try await perform { settings, output in
      try Database.withConnection(settings, as: user) { try body($0, output) }
    }
  }

  /// Runs a command that finds its database itself; otherwise like `run`.
  func perform(_ body: (Settings, CommandOutput) throws -> Void) async throws {
    let output = CommandOutput(json: json)
    do {
      try body(try await data.settings(), output)
    } catch {
      let code = Ending.code(for: error)
      if !(error is ExitCode) { output.report(error, code: code) }
      throw code
    }
  }
}

extension MigrateCommand {
  struct Up: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Apply the pending migrations.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The last revision to apply.", valueName: "revision"))
    var to: String?

    func run() async throws {
      try await options.run(as: .owner) { connection, output in
        let applied = try Migrator(connection).up(to: to, report: output.report)
        output.finish(
          applied.isEmpty
            ? "Nothing to do: the schema is up to date." : "Applied \(applied.count).",
          "applied", applied.map(\.revision))
      }
    }
  }

  struct Finish: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take away what only gateways of older releases need, after the last one has gone.",
      discussion: """
        Applies the pending migrations, and those that wait until every gateway runs this release. \
        Refused while a gateway of an older release runs.
        """)

    @OptionGroup var options: AdministrationOptions

    func run() async throws {
      try await options.run(as: .owner) { connection, output in
        let applied = try Migrator(connection).up(finishing: true, report: output.report)
        output.finish(
          applied.isEmpty
            ? "Nothing to do: no migration waits." : "Applied \(applied.count).",
          "applied", applied.map(\.revision))
      }
    }
  }

  struct Down: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revert every revision after the given one. Lists the data that is lost first.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The last revision to keep, or none.", valueName: "revision"))
    var to: String
    @Flag(help: "Revert; without this, only list what would be lost.") var yes = false

    func run() async throws {
      try await options.run(as: .owner) { connection, output in
        let migrator = try Migrator(connection)
        for migration in try migrator.downPlan(to: to) {
          output.note(
            "\(migration.revision): loses \(migration.loses ?? "no data")",
            [
              ("revision", .text(migration.revision)),
              ("loses", migration.loses.map { .text($0) } ?? .null),
            ])
        }
        guard yes else {
          throw CommandFailure(needsConfirmation)
        }
        let reverted = try migrator.down(to: to, report: output.report)
        output.finish("Reverted \(reverted.count).", "taken_back", reverted.map(\.revision))
      }
    }
  }

  struct Stamp: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Record a revision and all before it as applied, without running them.",
      discussion: "Only if the schema equals theirs; otherwise the command lists the differences.")

    @OptionGroup var options: AdministrationOptions
    @Argument(help: "The revision.") var revision: String

    func run() async throws {
      try await options.run(as: .owner) { connection, output in
        let stamped = try Migrator(connection).stamp(revision, report: output.report)
        output.finish(
          stamped.isEmpty ? "Already recorded." : "Recorded \(stamped.count).",
          "recorded", stamped.map(\.revision))
      }
    }
  }

  struct Repair: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Repair a database whose recorded migrations do not match its schema.",
      discussion: """
        Lists the problems and their remedies: recorded revisions without a file, missing tables \
        of recorded revisions, tables made by hand that lack columns. With --yes it then creates \
        what is missing. Nothing that exists is dropped or renamed.
        """)

    @OptionGroup var options: AdministrationOptions
    @Flag(help: "Repair; without this, only list the problems.") var yes = false

    func run() async throws {
      try await options.run(as: .owner) { connection, output in
        let migrator = try Migrator(connection)
        for finding in try migrator.examine() { output.note(finding) }
        let findings = try migrator.diagnose()
        for finding in findings {
          output.note(
            "\(finding)", [("found", .text(finding.problem)), ("mend", .text(finding.remedy))])
        }
        if findings.allSatisfy(\.isRemark) {
          return output.finish("No problems found.", "left", [])
        }
        guard yes else { throw CommandFailure(needsConfirmation) }
        let left = try migrator.repair(report: output.report)
        output.finish(
          left.isEmpty
            ? "Repaired." : "Repaired, except:\n" + left.map { "  \($0)" }.joined(separator: "\n"),
          "left", left.map(\.description))
        if !left.isEmpty { throw ExitCode.failure }
      }
    }
  }
}

/// `chirrup migrate`: what the schema is, what would change, and changing it.
import ArgumentParser
import Migrator
import Postgres

struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Migrate the schema of the database to this version, or inspect it.",
    discussion: """
      Exit codes: 0 done, or nothing to do; 1 it failed, or a check found something; 2 plan and \
      status: something is pending; 3 the database is newer than this chirrup; 4 PostgreSQL does \
      not answer; 64 wrong usage. config/DATABASE.md tells more.
      """,
    subcommands: [
      Plan.self, Up.self, Status.self, Down.self, Verify.self, Check.self, Stamp.self, Repair.self,
    ])
}

/// How a command of administration ended, for scripts.
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

/// What the commands that look at a database, or change it, have in common.
struct AdministrationOptions: ParsableArguments {
  @OptionGroup var data: DataOptions
  @Flag(help: "Answer in JSON, one object a line.") var json = false

  /// Runs a command on the database; what goes wrong is told, in JSON where that is wanted, and
  /// becomes the exit code.
  func run(_ body: (BlockingConnection, CommandOutput) throws -> Void) async throws {
    let output = CommandOutput(json: json)
    do {
      let settings = try await data.settings()
      try Database.withConnection(settings) { try body($0, output) }
    } catch {
      let code = Ending.code(for: error)
      if !(error is ExitCode) { output.tell(error, code: code) }
      throw code
    }
  }
}

extension MigrateCommand {
  struct Up: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Apply pending migrations.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The last revision to apply.", valueName: "revision"))
    var to: String?

    func run() async throws {
      try await options.run { connection, output in
        let applied = try Migrator(connection).up(to: to, report: output.tell)
        output.finish(
          applied.isEmpty
            ? "Nothing to do: the schema is up to date." : "Applied \(applied.count).",
          "applied", applied.map(\.revision))
      }
    }
  }

  struct Down: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revert every revision after one. Lists first the data that is lost.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("The revision to keep, or none.", valueName: "revision"))
    var to: String
    @Flag(help: "Carry it out; without this, only list the lost data.") var yes = false

    func run() async throws {
      try await options.run { connection, output in
        let migrator = try Migrator(connection)
        for migration in try migrator.downPlan(to: to) {
          output.say(
            "\(migration.revision): loses \(migration.loses ?? "no data")",
            [
              ("revision", .text(migration.revision)),
              ("loses", migration.loses.map { .text($0) } ?? .null),
            ])
        }
        guard yes else {
          throw CommandFailure("nothing was changed; with --yes it is done")
        }
        let taken = try migrator.down(to: to, report: output.tell)
        output.finish("Took back \(taken.count).", "taken_back", taken.map(\.revision))
      }
    }
  }

  struct Stamp: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Record a revision, and all before it, without running them.",
      discussion: "Only if the schema is what they would have made; otherwise it says what is not.")

    @OptionGroup var options: AdministrationOptions
    @Argument(help: "The revision.") var revision: String

    func run() async throws {
      try await options.run { connection, output in
        let stamped = try Migrator(connection).stamp(revision, report: output.tell)
        output.finish(
          stamped.isEmpty ? "It was on record already." : "Recorded \(stamped.count).",
          "recorded", stamped.map(\.revision))
      }
    }
  }

  struct Repair: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Repair the record of migrations of a database where it differs from the schema.",
      discussion: """
        Says what is wrong: revisions that no file has, tables that were never made although a \
        revision says so, tables made by hand with a column too few. Then makes what is missing. \
        Nothing that exists is dropped or renamed.
        """)

    @OptionGroup var options: AdministrationOptions
    @Flag(help: "Only print the differences.") var dryRun = false

    func run() async throws {
      try await options.run { connection, output in
        let migrator = try Migrator(connection)
        let findings = try migrator.diagnose()
        for finding in findings {
          output.say(
            "\(finding)", [("found", .text(finding.what)), ("mend", .text(finding.mend))])
        }
        if findings.allSatisfy(\.isRemark) {
          return output.finish("Nothing is wrong.", "left", [])
        }
        if dryRun { return output.finish("Nothing was changed.", "left", []) }
        let left = try migrator.repair(report: output.tell)
        output.finish(
          left.isEmpty
            ? "Mended." : "Mended, except:\n" + left.map { "  \($0)" }.joined(separator: "\n"),
          "left", left.map(\.description))
        if !left.isEmpty { throw ExitCode.failure }
      }
    }
  }
}

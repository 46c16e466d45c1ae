/// `chirrup migrate`: what the schema is, what would change, and changing it.
import ArgumentParser
import Migrator
import Postgres
import Primitives

struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Bring the schema of the database to this version, or look at it.",
    subcommands: [Plan.self, Up.self, Status.self, Down.self, Check.self])

  struct Plan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print what up would run. Changes nothing.")

    @OptionGroup var data: DataOptions
    @Flag(help: "Also print the SQL.") var sql = false

    func run() async throws {
      let pending = try await Database.withConnection(data.settings()) {
        try Migrator($0).plan()
      }
      if pending.isEmpty { Terminal.tell("Nothing to do: the schema is up to date.") }
      for migration in pending {
        Terminal.answer("\(migration.revision)  \(migration.summary)")
        guard sql else { continue }
        for statement in migration.up { Terminal.answer(statement.text + ";\n") }
      }
    }
  }

  struct Up: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Apply what is pending.")

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The last revision to apply.", valueName: "revision"))
    var to: String?

    func run() async throws {
      let applied = try await Database.withConnection(data.settings()) {
        try Migrator($0).up(to: to, report: MigrateCommand.report)
      }
      Terminal.tell(
        applied.isEmpty ? "Nothing to do: the schema is up to date." : "Applied \(applied.count).")
    }
  }

  struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print each revision: applied, pending, changed or unknown. Changes nothing.")

    @OptionGroup var data: DataOptions

    func run() async throws {
      let plan = try await Database.withConnection(data.settings()) { try Migrator($0).status() }
      for line in plan.lines {
        let state = line.state.rawValue.padded(to: 8)
        let moment = (line.applied?.at.description ?? "").padded(to: 24)
        Terminal.answer("\(state)  \(moment)  \(line.revision)  \(line.summary)")
      }
    }
  }

  struct Down: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take back every revision after one. Says first what data is lost.")

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The revision to keep, or none.", valueName: "revision"))
    var to: String
    @Flag(help: "Do it; otherwise only say what would be lost.") var yes = false

    func run() async throws {
      try await Database.withConnection(data.settings()) { connection in
        let migrator = try Migrator(connection)
        let plan = try migrator.downPlan(to: to)
        for migration in plan {
          Terminal.tell("\(migration.revision): \(migration.loses ?? "loses no data")")
        }
        guard yes else {
          throw CommandFailure("nothing was changed; with --yes it is done")
        }
        try migrator.down(to: to, report: MigrateCommand.report)
      }
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check the migrations of this binary alone, without a database.")

    func run() throws {
      let faults = Migrator.check()
      for fault in faults { Terminal.answer(fault.description) }
      guard faults.isEmpty else { throw ExitCode.failure }
      Terminal.tell("The migrations are one line, without gaps.")
    }
  }

  static func report(_ event: Migrator.Event) {
    switch event {
    case .waiting:
      Terminal.tell("another process migrates this database; waiting for it")
    case .began(let revision, let number, let count):
      Terminal.tell("migration \(number) of \(count): \(revision)")
    case .notice(let text):
      Terminal.tell("  \(text)")
    case .finished(let revision, let milliseconds):
      Terminal.tell("  \(revision) applied in \(milliseconds) ms")
    }
  }
}

extension String {
  fileprivate func padded(to columns: Int) -> String {
    self + String(repeating: " ", count: max(0, columns - count))
  }
}

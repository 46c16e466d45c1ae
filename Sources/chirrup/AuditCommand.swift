/// `chirrup audit prune`: removes old entries of the audit log. It only prints what it would do,
/// unless `--yes` is given.
import ArgumentParser
import DataRetention
import Directory
import Postgres

struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Maintain the audit log.", subcommands: [Prune.self])

  struct Prune: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Delete entries of the audit log that are older than a number of days.",
      discussion: """
        Prints the number of entries and the oldest one of each workspace, and with --yes deletes \
        them in batches. Each batch adds an entry about itself. Entries of erased visitors stay, \
        because an import reads them. It needs the owner of the tables (migrations_url): a gateway \
        cannot delete its own traces. maintenance.audit_days does the same each night. Exit codes: \
        0 success; 1 the user may not delete entries, or migrations are pending; 4 PostgreSQL does \
        not answer; 64 wrong usage.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(
      help: ArgumentHelp("Keep the entries of so many days, 1 to 36500.", valueName: "days"))
    var days: Int
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?
    @Flag(help: "Delete; without this, only print the numbers.") var yes = false

    func validate() throws {
      guard (1...36_500).contains(days) else { throw ValidationError("--days must be 1 to 36500") }
    }

    func run() async throws {
      try await options.runOnSchema(as: .owner) { storedData, connection, output in
        guard try storedData.mayPruneAudit() else {
          throw CommandFailure(
            "this user may not delete from audit_log; set migrations_url "
              + "(CHIRRUP_MIGRATIONS_URL) to the URL of the tables' owner")
        }
        let only = try workspace.map { try connection.workspace(named: $0).id }
        let found = try storedData.prunableAudit(days: days, workspace: only)
        for item in found {
          output.result(
            "\(item.workspaceName): \(item.entries) entries are older than \(days) days, the "
              + "oldest of \(item.oldest)",
            [
              ("workspace", .text(item.workspaceName)), ("entries", .number(item.entries)),
              ("oldest", .text("\(item.oldest)")),
            ])
        }
        let removed =
          yes && !found.isEmpty
          ? try storedData.pruneAudit(days: days, workspace: only, report: output.report) : 0
        let text =
          found.isEmpty
          ? "No entry is old enough." : yes ? "deleted \(removed) entries" : needsConfirmation
        if yes {
          output.result(text, [("done", .bool(true)), ("entries", .number(removed))])
        } else {
          output.note(text)
        }
      }
    }
  }
}

/// The options and the output of the imports of other systems' conversations.
import ArgumentParser
import DataRetention
import Directory
import Postgres
import Primitives

struct ImportOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
  @Option(
    help: ArgumentHelp(
      "Only conversations with an activity since this day (UTC).", valueName: "yyyy-mm-dd"))
  var since: String?
  @Option(help: ArgumentHelp("Conversations per transaction, 1 to 1000.", valueName: "number"))
  var batch = 200
  @Flag(help: "Only print the numbers; the default.") var dryRun = false
  @Flag(help: "Import; without this, only print the numbers.") var yes = false

  func validate() throws {
    guard (1...ConversationImport.batchMax).contains(batch) else {
      throw ValidationError("--batch must be 1 to \(ConversationImport.batchMax)")
    }
    guard !(yes && dryRun) else {
      throw ValidationError("--dry-run and --yes exclude each other")
    }
  }

  /// Runs the import that `begin` opens, and prints its numbers and findings.
  func run(
    _ options: AdministrationOptions,
    _ begin: (StoredData, Workspace, WallTime?) throws -> ConversationImport
  ) async throws {
    try await options.runOnSchema(as: .owner) { storedData, connection, output in
      let workspace = try connection.workspace(named: workspace)
      let since = try since.map { day in
        guard let time = storedData.beginning(ofDay: day) else {
          throw CommandFailure("--since must be a day like 2026-01-31")
        }
        return time
      }
      var conversations = try begin(storedData, workspace, since)
      let summary = try conversations.run(report: output.report)
      for finding in conversations.findings.list { report(finding, output) }
      let counts = summary.counts.map {
        "\($0.1) \($0.0.split(separator: "_").joined(separator: " "))"
      }
      output.result(
        "\(yes ? "imported" : "would import") \(counts.dropLast().joined(separator: ", ")) and "
          + (counts.last ?? ""),
        [("done", .bool(yes))] + summary.counts.map { ($0.0, .number($0.1)) })
      if !yes { output.note(needsConfirmation) }
    }
  }

  private func report(_ finding: ImportFindings.Finding, _ output: CommandOutput) {
    let more = finding.count > Int64(finding.ids.count) ? ", …" : ""
    let list = "(\(finding.ids.joined(separator: ", "))\(more))"
    output.result(
      "\(finding.count) \(finding.table) \(finding.reason) \(list)",
      [
        ("table", .text(finding.table)), ("reason", .text(finding.reason)),
        ("rows", .number(finding.count)), ("ids", .list(finding.ids)),
      ])
  }
}

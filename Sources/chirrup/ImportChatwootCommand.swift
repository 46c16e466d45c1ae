/// `chirrup import chatwoot`.
import ArgumentParser
import DataRetention
import Directory
import Postgres

extension ImportCommand {
  struct Chatwoot: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "chatwoot",
      abstract: "Import an account of a Chatwoot database.",
      discussion: """
        Members, labels, canned responses, contacts, conversations, messages and ratings. \
        Chatwoot's database is read in one snapshot and not changed. Ids are derived from the old \
        ones, so that another run imports only what is new, also after one that was interrupted; \
        gateways may run meanwhile. Rows that are changed or left out are counted by reason, with \
        the ids of the first ones.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(
      help: ArgumentHelp(
        "Chatwoot's database, as a URL of libpq. A password is better in a file (~/.pgpass).",
        valueName: "url"))
    var from: String
    @Option(help: ArgumentHelp("The number of the Chatwoot account.", valueName: "number"))
    var account: Int64
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
      guard (1...ChatwootImport.batchMax).contains(batch) else {
        throw ValidationError("--batch must be 1 to \(ChatwootImport.batchMax)")
      }
      guard !(yes && dryRun) else {
        throw ValidationError("--dry-run and --yes exclude each other")
      }
    }

    func run() async throws {
      try await options.runOnSchema(as: .owner) { storedData, connection, output in
        let workspace = try connection.workspace(named: workspace)
        let since = try since.map { day in
          guard let time = storedData.beginning(ofDay: day) else {
            throw CommandFailure("--since must be a day like 2026-01-31")
          }
          return time
        }
        let source: BlockingConnection
        do {
          source = try BlockingConnection(from)
        } catch {
          throw CommandFailure("the Chatwoot database does not answer: \(error)")
        }
        var chatwoot = try ChatwootImport(
          storedData, workspace: workspace.id, from: source, account: account, since: since,
          batch: batch, isRun: yes)
        let summary = try chatwoot.run(report: output.report)
        for finding in chatwoot.findings.list { report(finding, output) }
        output.result(
          "\(yes ? "imported" : "would import") \(summary.members) members, \(summary.tags) tags, "
            + "\(summary.cannedReplies) canned replies, \(summary.visitors) visitors, "
            + "\(summary.conversations) conversations, \(summary.messages) messages and "
            + "\(summary.ratings) ratings",
          [
            ("done", .bool(yes)), ("members", .number(summary.members)),
            ("tags", .number(summary.tags)), ("canned_replies", .number(summary.cannedReplies)),
            ("visitors", .number(summary.visitors)),
            ("conversations", .number(summary.conversations)),
            ("messages", .number(summary.messages)), ("ratings", .number(summary.ratings)),
          ])
        if !yes { output.note(needsConfirmation) }
      }
    }

    private func report(_ finding: ImportFindings.Finding, _ output: CommandOutput) {
      let ids = finding.ids.map { "\($0)" }
      let more = finding.count > Int64(ids.count) ? ", …" : ""
      let list = "(\(ids.joined(separator: ", "))\(more))"
      output.result(
        "\(finding.count) \(finding.table) \(finding.reason) \(list)",
        [
          ("table", .text(finding.table)), ("reason", .text(finding.reason)),
          ("rows", .number(finding.count)), ("ids", .list(ids)),
        ])
    }
  }
}

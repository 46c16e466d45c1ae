/// `chirrup analytics`: computes the statistics again from the conversations.
import ArgumentParser
import Directory
import Postgres

struct AnalyticsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "analytics", abstract: "Maintain the statistics of conversations.",
    subcommands: [Recompute.self])

  struct Recompute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Compute the statistics of all conversations again.",
      discussion: """
        The gateway updates the statistics with every event. Run this after other changes: an \
        import, a repair by hand, another time zone of a workspace. Gateways may keep running. \
        The statistics of removed conversations stay unchanged.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?

    func run() async throws {
      try await options.runOnSchema { _, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0) }
        let workspaces = try only.map { [($0.id, $0.name)] } ?? connection.run(Workspace.all())
        for (id, name) in workspaces {
          let sessions = try connection.run(Analytics.recompute(id))
          output.result(
            "\(name): \(sessions) conversations counted",
            [("workspace", .text(name)), ("conversations", .number(sessions))])
        }
      }
    }
  }
}

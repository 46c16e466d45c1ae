/// `chirrup analytics`: the figures of conversations, counted again from the conversations.
import ArgumentParser
import Directory
import Postgres

struct AnalyticsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "analytics", abstract: "Manage the analytics of conversations.",
    subcommands: [Recompute.self])

  struct Recompute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Recompute the analytics of all conversations.",
      discussion: """
        The gateway counts as things happen. This is for what something else has written or \
        changed: an import, a repair by hand, a workspace that moved to another time zone. \
        Gateways may run meanwhile. Figures of conversations that are gone stay as they were.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?

    func run() async throws {
      try await options.runOnSchema { _, connection, output in
        let only = try workspace.map { try connection.workspace(named: $0) }
        let workspaces = try only.map { [($0.id, $0.name)] } ?? connection.ask(Workspace.all())
        for (id, name) in workspaces {
          let sessions = try connection.ask(Analytics.recompute(id))
          output.answer(
            "\(name): \(sessions) conversations counted",
            [("workspace", .text(name)), ("conversations", .number(sessions))])
        }
      }
    }
  }
}

/// `chirrup analytics`: counts the conversations that have changed, or computes the statistics of
/// all again.
import ArgumentParser
import Directory
import Postgres

struct AnalyticsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "analytics", abstract: "Maintain the statistics of conversations.",
    subcommands: [Count.self, Recompute.self])

  struct Count: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Count the conversations that have changed.",
      discussion: """
        Afterwards the tables of statistics are of now, for a report in SQL. A gateway does this \
        once a minute, and before it shows statistics.
        """)

    /// Changes that one transaction counts, and how long it waits for another one in milliseconds.
    private static let (changesMax, patience): (Int64, Int64) = (2_000, 10_000)

    @OptionGroup var options: AdministrationOptions

    func run() async throws {
      try await options.runOnSchema { _, connection, output in
        var changes: Int64 = 0
        while true {
          let counted = try connection.run(
            Analytics.count(limit: Count.changesMax, patience: Count.patience))
          guard let counted else {
            throw CommandFailure(
              """
              Another count has run for 10 s, perhaps “chirrup analytics recompute”: try again \
              when it has ended.
              """)
          }
          changes += counted
          if counted < Count.changesMax { break }
        }
        output.result("\(changes) changes counted", [("changes", .number(changes))])
      }
    }
  }

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

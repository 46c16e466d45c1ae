/// `chirrup demo-data`: fills a workspace with generated conversations, for trying and measuring
/// the console.
import ArgumentParser
import Directory
import Kernel
import Primitives

struct DemoDataCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-data",
    abstract: "Fill a workspace with generated conversations in nine languages.",
    discussion: """
      The conversations date from the past 90 days, with the busy hours and weekdays of a shop. \
      The latest are open, and a tenth of the open ones wait in the queue. Generated operators \
      without a password answer them, some faster and better than others, in three teams with \
      targets that they meet or miss. Another run adds more; one with the same --seed draws the \
      same. Use a separate workspace: generated conversations cannot be told apart from real ones \
      later.
      """)

  @OptionGroup var data: DataOptions
  @Option(help: ArgumentHelp("The workspace's name.", valueName: "name"))
  var workspace = DemoWorkspace.name
  @Option(help: ArgumentHelp("The number of conversations, at most 1,000,000.", valueName: "count"))
  var conversations = 1_000
  @Option(
    help: ArgumentHelp(
      "The number of open ones (default: a thousandth, 3 to 400: those of an hour).",
      valueName: "count"))
  var open: Int?
  @Option(
    help: ArgumentHelp(
      "The same seed draws the same conversations, relative to the current hour (default: 1).",
      valueName: "number"))
  var seed = 1

  func validate() throws {
    guard (1...1_000_000).contains(conversations) else {
      throw ValidationError("--conversations must be 1 to 1,000,000")
    }
    guard (0...1_000_000).contains(seed) else {
      throw ValidationError("--seed must be 0 to 1,000,000")
    }
    guard (0...conversations).contains(open ?? 0) else {
      throw ValidationError("--open must be 0 to the number of --conversations")
    }
  }

  func run() async throws {
    let settings = try await data.settings()
    // The open ones began in the last hour. More of them than an hour usually has would be a peak
    // in every chart.
    let open = open ?? min(conversations, max(3, min(400, conversations / 1_000)))
    // ANALYZE needs the owner.
    try Database.withCurrentSchema(settings, as: .owner) { connection in
      let workspace = try connection.workspace(named: workspace)
      let start = SystemClock.now()
      try GeneratedConversations(
        workspace: workspace.id, count: conversations, open: open, seed: seed,
        teams: DemoData.teams, colleagues: DemoData.operators
      ).create(connection) { last in
        Terminal.note("\(last) of \(conversations) conversations")
      }
      let seconds = SystemClock.now().milliseconds(since: start) / 1000
      Terminal.note("created \(conversations) conversations in \(seconds) s, \(open) of them open")
      Terminal.result(
        """
        {"workspace":\(jsonText(workspace.name)),"conversations":\(conversations),"open":\(open)}
        """
      )
    }
  }
}

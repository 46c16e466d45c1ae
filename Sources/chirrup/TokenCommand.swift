/// `chirrup token`: issues tokens for scripts and load tests, one JSON object per line. A running
/// gateway accepts them, because both read the signing key from the database.
import ArgumentParser
import Directory
import Kernel
import Postgres
import Primitives
import Settings
import Tokens

struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Print tokens, one JSON object per line.",
    subcommands: [VisitorTokens.self, OperatorTokens.self])

  struct Options: ParsableArguments {
    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name"))
    var workspace: String
    @Option(help: ArgumentHelp("The number of tokens.", valueName: "number"))
    var count = 1
    @Option(
      help: ArgumentHelp("The validity of a token in seconds, 1 to 86400.", valueName: "seconds"))
    var lifetime: Int?

    func validate() throws {
      guard (1...1_000_000).contains(count) else {
        throw ValidationError("--count must be 1 to 1000000")
      }
      if let lifetime, !(1...86_400).contains(lifetime) {
        throw ValidationError("--lifetime must be 1 to 86400 seconds")
      }
    }
  }

  struct VisitorTokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "visitor",
      abstract: "Create visitors, each with a new session, and print their tokens.")

    @OptionGroup var options: Options

    func run() async throws {
      let settings = try await options.data.settings()
      let (authority, visits) = try Database.withCurrentSchema(settings) { connection in
        let workspace = try connection.workspace(named: options.workspace)
        return try (
          Database.tokenAuthority(settings, connection),
          TokenCommand.makeVisits(options.count, in: workspace.id, connection)
        )
      }
      for visit in visits {
        let issued = try authority.issue(
          visit.principal, lifetimeSeconds: options.lifetime ?? settings.tokens.visitorSeconds,
          now: SystemClock.wallTime())
        Terminal.result(
          """
          {"token":"\(issued.token)","session":"\(visit.session)",\
          "visitor":"\(visit.principal.id)","expires_at":"\(issued.expiresAt)"}
          """)
      }
    }
  }

  struct OperatorTokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "operator",
      abstract: "Print tokens for the operators of a workspace, oldest first, in rotation.")

    @OptionGroup var options: Options
    @Option(
      help: ArgumentHelp("Only for the operator with this e-mail address.", valueName: "address"))
    var email: String?

    func run() async throws {
      let settings = try await options.data.settings()
      let (authority, operators) = try Database.withCurrentSchema(settings) { connection in
        let workspace = try connection.workspace(named: options.workspace)
        let members = try connection.run(
          Operator.members(of: workspace.id, limit: email == nil ? options.count : 1_000_000))
        return try (
          Database.tokenAuthority(settings, connection),
          members.filter { email == nil || $0.email.lowercased() == email?.lowercased() }
        )
      }
      guard !operators.isEmpty else {
        throw CommandFailure(
          "the workspace \"\(options.workspace)\" has no such operator; "
            + "create one with: chirrup operator create")
      }
      for index in 0..<options.count {
        let member = operators[index % operators.count]
        let issued = try authority.issue(
          .operator(
            id: member.id, workspace: member.workspace, name: member.name, role: member.membership),
          lifetimeSeconds: options.lifetime ?? settings.tokens.operatorSeconds,
          now: SystemClock.wallTime())
        Terminal.result(
          """
          {"token":"\(issued.token)","operator":"\(member.id)","expires_at":"\(issued.expiresAt)"}
          """)
      }
    }
  }

  private struct VisitorAndSession {
    var principal: Principal
    var session: Identifier
  }

  /// Visitors of one transaction: each commit waits for the disk, and each statement for its
  /// answer.
  private static let visitsAtOnce = 1_000

  private static func makeVisits(
    _ count: Int, in workspace: Identifier, _ connection: BlockingConnection
  ) throws -> [VisitorAndSession] {
    var visits: [VisitorAndSession] = []
    visits.reserveCapacity(count)
    while visits.count < count {
      let number = min(visitsAtOnce, count - visits.count)
      visits += try connection.transaction { connection in
        try makeVisits(atOnce: number, in: workspace, connection)
      }
    }
    return visits
  }

  private static func makeVisits(
    atOnce number: Int, in workspace: Identifier, _ connection: BlockingConnection
  ) throws -> [VisitorAndSession] {
    let visitors = (0..<number).map { _ in Identifier.random() }
    let sessions = (0..<number).map { _ in Identifier.random() }
    let made = try (
      connection.run(Visitor.create(visitors, workspace: workspace)),
      connection.run(VisitorSession.create(sessions, workspace: workspace, visitors: visitors))
    )
    guard made == (Int64(number), Int64(number)) else {
      throw CommandFailure("the database created \(made.0) visitors and \(made.1) sessions only")
    }
    return zip(visitors, sessions).map { visitor, session in
      VisitorAndSession(
        principal: .visitor(id: visitor, workspace: workspace, sessions: [session], name: ""),
        session: session)
    }
  }
}

/// `chirrup setup`: the first owner and workspace, in a terminal instead of the page of the link
/// that `chirrup serve` prints.
import ArgumentParser
import Directory
import JSON
import Kernel
import Migrator
import OpenSSL
import Postgres
import Primitives
import Settings

struct SetupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup",
    abstract: "Create the first owner and workspace, and print the snippet for a website.",
    discussion: """
      In a terminal it asks for what no option says. Without a terminal nothing is asked: --name, \
      --email and --workspace are required, and the password is the first line of standard input. \
      Pending migrations are applied first. Once there is an operator, it changes nothing and \
      exits with 1.
      """)

  @OptionGroup var data: DataOptions
  @Option(help: "The owner's name, which visitors see.") var name: String?
  @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
  var email: String?
  @Option(help: ArgumentHelp("The name of the shop, company or team.", valueName: "name"))
  var workspace: String?
  @Option(help: "The password, at least 10 characters. Other users can see a command's arguments.")
  var password: String?
  @Option(help: ArgumentHelp("The widget's colour (default: #0b6e63).", valueName: "#rrggbb"))
  var colour: String?
  @Option(
    help: ArgumentHelp(
      "always (the default), or such as \"Mon-Fri 09:00-17:00, Sat 10:00-14:00\".",
      valueName: "hours"))
  var hours: String?
  @Option(
    help: ArgumentHelp(
      "The time zone of the hours, such as Europe/Berlin (default: UTC).", valueName: "zone"))
  var timeZone: String?
  @Flag(help: "Send a test message to the running gateway. A terminal asks whether to.")
  var testMessage = false

  private static let ownColour = "#0b6e63"

  func run() async throws {
    let settings = try await data.settings()
    let key = try Database.withConnection(settings, as: .owner) { connection in
      try Self.migrate(connection)
      guard try connection.run(FirstOwner.isMissing) else {
        throw CommandFailure(
          "this gateway is set up already; log in to the console, or add an operator with: "
            + "chirrup operator create")
      }
      return try setUp(connection, settings)
    }
    let url = Banner.url(settings, listening: settings.listen, secure: settings.tls.listen)
    try sendTestMessage(url, key)
  }

  /// The workspace is set up already, so that a terminal shows a failure, and does not fail.
  private func sendTestMessage(_ url: String, _ key: String) throws {
    guard testMessage || Terminal.isInteractive else { return }
    for _ in 1...Self.triesMax {
      if !testMessage {
        let answer = Terminal.ask("Send a test message, while chirrup serve runs", proposal: "yes")
        guard answer.lowercased().hasPrefix("y") else { return }
      }
      do {
        let milliseconds = try TestMessage(url: url, key: key).send()
        return Terminal.note(
          "  The test message was stored after \(milliseconds) ms. It waits in \(url)/console\n")
      } catch {
        if testMessage { throw error }
        Terminal.note("  \(error)")
      }
    }
  }

  private static func migrate(_ connection: BlockingConnection) throws {
    let migrator = try Migrator(connection)
    guard case .pending = try migrator.status().standing() else { return }
    guard try DatabaseRoles(migrator).canMigrate() else {
      throw CommandFailure(
        "migrations are pending, and the user of the database may not apply them; set "
          + "migrations_url (CHIRRUP_MIGRATIONS_URL) to the URL of the tables' owner")
    }
    try migrator.up(report: CommandOutput(json: false).report)
  }

  /// - Returns: the public key of the workspace.
  private func setUp(_ connection: BlockingConnection, _ settings: Settings) throws -> String {
    let name = try value(name, "--name", "Your name", check: Self.checkName)
    let email = try value(email, "--email", "Email", check: Self.checkEmail)
    let workspace = try value(
      workspace, "--workspace", "Name of your shop, company or team", check: Self.checkName)
    let colour = try value(
      colour, "--colour", "Colour of the widget", proposal: Self.ownColour, check: Self.checkColour)
    let hours = try value(
      hours, "--hours", "Hours (always, or Mon-Fri 09:00-17:00)", proposal: "always",
      check: Self.checkHours)
    let zone = try value(timeZone, "--time-zone", "Time zone", proposal: "UTC") { zone in
      do throws(QueryFailure) {
        _ = try connection.run(WorkspaceSettings.checkTimeZone(zone))
        return nil
      } catch {
        guard case .refused = error else { throw error }
        return "PostgreSQL does not know the time zone \(zone); use a name such as Europe/Berlin"
      }
    }
    let password = try password(own: [email, name, workspace])
    let key = "pk_" + SecureRandom.token(byteCount: 18)
    let owner = FirstOwner(
      email: email, name: name, passwordHash: try Password.hash(password), workspace: workspace,
      workspaceID: .random(), publicKey: key)
    let id = try connection.transaction { connection -> Identifier? in
      guard let id = try connection.run(owner.create) else { return nil }
      try store(colour, OpeningHours(hours), zone, of: id, connection)
      return id
    }
    guard let id, let made = try connection.run(Workspace.withID(id)) else {
      throw CommandFailure(
        "somebody else has just set this gateway up; log in to the console, or add an operator "
          + "with: chirrup operator create")
    }
    report(made, settings)
    return key
  }

  private func store(
    _ colour: String, _ hours: OpeningHours?, _ zone: String, of workspace: Identifier,
    _ connection: BlockingConnection
  ) throws {
    var values: [(key: WorkspaceSettings.Key, value: JSONValue?)] = []
    if colour != Self.ownColour {
      values.append((.widget, .object(["accent": .string(colour)])))
    }
    if let hours { values.append((.hours, hours.setting(timeZone: zone))) }
    try connection.run(
      WorkspaceSettings.change(
        values, origins: nil, changesOrigins: false, by: .command(in: workspace)))
  }

  private func report(_ workspace: Workspace, _ settings: Settings) {
    let url = Banner.url(settings, listening: settings.listen, secure: settings.tls.listen)
    Terminal.note(
      """

        \(workspace.name) is set up.

        Start it    chirrup serve, unless it runs already
        Log in      \(url)/console

        On your website:
        <script src="\(url)/widget.js" data-workspace="\(workspace.publicKey)" async></script>

      """)
    Terminal.result(
      """
      {"operator":"\(FirstOwner.id)","workspace":"\(workspace.id)",\
      "name":\(jsonText(workspace.name)),"public_key":\(jsonText(workspace.publicKey))}
      """)
  }
}

extension SetupCommand {
  /// The times that a person may answer a question wrongly.
  private static let triesMax = 3

  /// The value of an option. Without it a person is asked, and a script gets the proposal.
  ///
  /// - Parameter check: the reason why a value is refused, or nil.
  private func value(
    _ given: String?, _ option: String, _ question: String, proposal: String = "",
    check: (String) throws -> String?
  ) throws -> String {
    let asks = given == nil && Terminal.isInteractive
    for _ in 1...Self.triesMax {
      let text = given ?? (asks ? Terminal.ask(question, proposal: proposal) : proposal)
      guard let fault = try check(text) else { return text }
      guard asks else { throw CommandFailure("\(option): \(fault)") }
      Terminal.note("  \(fault)")
    }
    throw CommandFailure("\(option) has no valid value; run chirrup setup again")
  }

  private func password(own: [String]) throws -> String {
    let asks = password == nil && Terminal.isInteractive
    for _ in 1...Self.triesMax {
      let text =
        password ?? Terminal.readPassword(prompt: "Password, at least 10 characters: ") ?? ""
      let fault = PasswordPolicy.fault(text, own: own).map { "the password \($0.rawValue)" }
      guard let fault else {
        guard asks, Terminal.readPassword(prompt: "Repeat the password: ") != text else {
          return text
        }
        Terminal.note("  the passwords differ")
        continue
      }
      guard asks else { throw CommandFailure(fault) }
      Terminal.note("  \(fault)")
    }
    throw CommandFailure("no password was set; run chirrup setup again")
  }

  private static func checkName(_ text: String) -> String? {
    (1...100).contains(text.count) ? nil : "give 1 to 100 characters"
  }

  private static func checkEmail(_ text: String) -> String? {
    OperatorCommand.isEmailAddress(text) ? nil : "give an address like ada@example.com"
  }

  private static func checkColour(_ text: String) -> String? {
    WorkspaceSettings.check(.widget, .object(["accent": .string(text)])).map {
      "\($0) Give one like \(ownColour)"
    }
  }

  private static func checkHours(_ text: String) -> String? {
    guard let hours = OpeningHours(text) else {
      return "give always, or days and times like Mon-Fri 09:00-17:00, Sat 10:00-14:00"
    }
    return WorkspaceSettings.check(.hours, hours.setting(timeZone: "UTC"))
  }
}

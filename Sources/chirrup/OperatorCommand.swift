/// `chirrup operator`: creates, disables and enables the accounts of the console, and sets their
/// passwords.
import ArgumentParser
import Directory
import Kernel
import OpenSSL
import Postgres
import Primitives

struct OperatorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operator",
    abstract: "Create operators, set their passwords, disable and enable them.",
    subcommands: [Create.self, SetPassword.self, ResetSecondFactor.self, Disable.self, Enable.self])

  static func isEmailAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && text.utf8.count <= 254
      && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
  }

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create an operator, or add an existing one to another workspace.",
      discussion: """
        Without --password the command prompts for the password, or reads it from the first line \
        of standard input. Prefer that: every user of this machine can see a command's arguments.
        """)

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String
    @Option(help: "The name that visitors see.") var name: String
    @Option(
      help: "owner, admin or agent (default: owner for the first operator, agent for others).")
    var role: String?
    @Option(help: "The password, at least 10 characters.") var password: String?
    @Flag(
      help: ArgumentHelp(
        "Do not require a new password at the first login.",
        discussion: "A workspace's first operator never needs one."))
    var keepPassword = false

    func validate() throws {
      guard ["owner", "admin", "agent", nil].contains(role) else {
        throw ValidationError("--role must be owner, admin or agent")
      }
      guard (1...100).contains(name.count) else {
        throw ValidationError("--name must have 1 to 100 characters")
      }
      guard OperatorCommand.isEmailAddress(email) else {
        throw ValidationError("--email must be an address like ada@example.com")
      }
    }

    func run() async throws {
      let settings = try await data.settings()
      try Database.withCurrentSchema(settings) { connection in
        let workspace = try connection.workspace(named: workspace)
        let isFirst = try !connection.run(Operator.isAnybody(in: workspace.id))
        let role = role ?? (isFirst ? "owner" : "agent")
        if let known = try connection.run(Operator.withEmail(email)) {
          try connection.run(Operator.join(known.id, workspace: workspace.id, membership: role))
          Terminal.note("\(email) is now a member of the workspace; the password has not changed")
          return answer(id: known.id, name: known.name, role: role)
        }
        let made = try connection.run(
          Operator.create(
            id: .random(), email: email, name: name,
            passwordHash: Password.hash(
              Terminal.newPassword(password, for: email, own: [email, name, workspace.name])),
            workspace: workspace.id, membership: role,
            mustChangePassword: !(keepPassword || isFirst)))
        guard let made else { throw CommandFailure("an operator \(email) already exists") }
        answer(id: made.id, name: made.name, role: role)
      }
    }

    private func answer(id: Identifier, name: String, role: String) {
      Terminal.result(
        """
        {"operator":"\(id)","email":\(jsonText(email)),"name":\(jsonText(name)),\
        "role":"\(role)"}
        """)
    }
  }

  struct SetPassword: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "password",
      abstract: "Set an operator's password. Ends all of their sessions and open consoles.")

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String
    @Option(help: "The password, at least 10 characters; prompted for if omitted.")
    var password: String?
    @Flag(help: "Do not require a new password at the next login.")
    var keepPassword = false

    func run() async throws {
      try Database.withCurrentSchema(try await data.settings()) { connection in
        let known = try connection.account(email)
        let hash = try Password.hash(
          Terminal.newPassword(password, for: email, own: [email, known.name]))
        try connection.run(Operator.setPassword(known.id, hash: hash, mustChange: !keepPassword))
      }
      Terminal.note(
        "\(email) has a new password and must log in again"
          + (keepPassword ? "" : "; they must then choose another one (not with --keep-password)"))
    }
  }

  struct ResetSecondFactor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "reset-second-factor",
      abstract: "Remove the second factor of an operator who has lost it. Ends their sessions.")

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String

    func run() async throws {
      try Database.withCurrentSchema(try await data.settings()) { connection in
        let isReset = try connection.run(SecondFactor.reset(connection.account(email).id))
        guard isReset else { throw CommandFailure("\(email) has no second factor") }
      }
      Terminal.note("\(email) logs in with the password alone")
    }
  }

  struct Disable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Disable an operator in every workspace; their open consoles end within seconds.")

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String

    func run() async throws {
      try Database.withCurrentSchema(try await data.settings()) { connection in
        try connection.run(Operator.setDisabled(connection.account(email).id, true))
      }
      Terminal.note("\(email) is disabled")
    }
  }

  struct Enable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Enable a disabled operator again, with the old password.")

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String

    func run() async throws {
      try Database.withCurrentSchema(try await data.settings()) { connection in
        try connection.run(Operator.setDisabled(connection.account(email).id, false))
      }
      Terminal.note("\(email) may log in again")
    }
  }
}

extension BlockingConnection {
  fileprivate func account(_ email: String) throws -> (id: Identifier, name: String) {
    guard let known = try run(Operator.withEmail(email)) else {
      throw CommandFailure(
        "there is no operator \(email); create one with: chirrup operator create")
    }
    return known
  }
}

extension Terminal {
  /// Returns the password of the command line, or prompts for it.
  ///
  /// - Parameter own: texts of the account that the password must not consist of.
  fileprivate static func newPassword(
    _ given: String?, for email: String, own: [String]
  ) throws -> String {
    let password = given ?? readPassword(prompt: "Password for \(email), at least 10 characters: ")
    if let fault = PasswordPolicy.fault(password ?? "", own: own) {
      throw CommandFailure("the password \(fault.rawValue)")
    }
    return password ?? ""
  }
}

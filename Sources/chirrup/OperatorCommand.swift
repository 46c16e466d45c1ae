/// `chirrup operator`: who can log in to the console, and who no longer.
import ArgumentParser
import Directory
import OpenSSL
import Postgres
import Primitives

struct OperatorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operator", abstract: "Create operators, and change their access.",
    subcommands: [Create.self, SetPassword.self, Disable.self, Enable.self])

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create an operator, or add an existing one to another workspace.",
      discussion: """
        Without --password it is asked for, or read from the first line of standard input: other \
        people of this machine can see the arguments of a command.
        """)

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String
    @Option(help: "The name that visitors see.") var name: String
    @Option(help: "owner, admin or agent (the first one of a workspace: owner, others: agent).")
    var role: String?
    @Option(help: "At least 10 characters.") var password: String?
    @Flag(
      help:
        "Keep this password. By default all but the first operator change it at the first login.")
    var keepPassword = false

    func validate() throws {
      guard ["owner", "admin", "agent", nil].contains(role) else {
        throw ValidationError("--role is owner, admin or agent")
      }
      guard (1...100).contains(name.count) else {
        throw ValidationError("--name has 1 to 100 characters")
      }
      let parts = email.split(separator: "@", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), email.utf8.count <= 254,
        email.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
      else { throw ValidationError("--email is an address like ada@example.com") }
    }

    func run() async throws {
      let settings = try await data.settings()
      try Database.withCurrentSchema(settings) { connection in
        let workspace = try connection.workspace(named: workspace)
        let isFirst = try !connection.ask(Operator.isAnybody(in: workspace.id))
        let role = role ?? (isFirst ? "owner" : "agent")
        if let known = try connection.ask(Operator.withEmail(email)) {
          try connection.ask(Operator.join(known.id, workspace: workspace.id, membership: role))
          Terminal.tell("\(email) is a member now, with the password that it has")
          return answer(id: known.id, name: known.name, role: role)
        }
        let made = try connection.ask(
          Operator.create(
            id: .fresh(), email: email, name: name,
            passwordHash: Password.hash(Terminal.newPassword(password, for: email)),
            workspace: workspace.id, membership: role,
            mustChangePassword: !(keepPassword || isFirst)))
        guard let made else { throw CommandFailure("there is an operator \(email) already") }
        answer(id: made.id, name: made.name, role: role)
      }
    }

    private func answer(id: Identifier, name: String, role: String) {
      Terminal.answer(
        """
        {"operator":"\(id)","email":\(jsonText(email)),"name":\(jsonText(name)),\
        "role":"\(role)"}
        """)
    }
  }

  struct SetPassword: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "password",
      abstract: "Set an operator's password. Ends every login and closes every open console.")

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String
    @Option(help: "At least 10 characters; without this it is read from the terminal.")
    var password: String?
    @Flag(help: "Keep this password. Without this it must be changed at the next login.")
    var keepPassword = false

    func run() async throws {
      try Database.withCurrentSchema(try await data.settings()) { connection in
        let known = try connection.account(email)
        let hash = try Password.hash(Terminal.newPassword(password, for: email))
        try connection.ask(Operator.setPassword(known, hash: hash, mustChange: !keepPassword))
      }
      Terminal.tell(
        "\(email) has a new password, and must log in again"
          + (keepPassword ? "" : ", which asks for another one (--keep-password: it does not)"))
    }
  }

  struct Disable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Disable an operator in every workspace; open consoles are closed within seconds.")

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String

    func run() async throws {
      try Database.withCurrentSchema(try await data.settings()) { connection in
        try connection.ask(Operator.setDisabled(connection.account(email), true))
      }
      Terminal.tell("\(email) is disabled")
    }
  }

  struct Enable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Enable a disabled operator, with the old password.")

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String

    func run() async throws {
      try Database.withCurrentSchema(try await data.settings()) { connection in
        try connection.ask(Operator.setDisabled(connection.account(email), false))
      }
      Terminal.tell("\(email) may log in again")
    }
  }
}

extension BlockingConnection {
  fileprivate func account(_ email: String) throws -> Identifier {
    guard let known = try ask(Operator.withEmail(email)) else {
      throw CommandFailure("there is no operator \(email); chirrup operator create makes one")
    }
    return known.id
  }
}

extension Terminal {
  /// The password that was given, or asked for.
  fileprivate static func newPassword(_ given: String?, for email: String) throws -> String {
    let password = given ?? readPassword(prompt: "Password for \(email), at least 10 characters: ")
    guard let password, password.unicodeScalars.count >= 10 else {
      throw CommandFailure("a password has at least 10 characters")
    }
    guard password.utf8.count <= Password.byteCountMax else {
      throw CommandFailure("a password has at most \(Password.byteCountMax) bytes")
    }
    return password
  }
}

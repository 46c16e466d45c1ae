/// `chirrup workspace` and `chirrup operator`: what must exist before anybody can chat.
import ArgumentParser
import Directory
import OpenSSL
import Postgres
import Primitives

struct WorkspaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workspace", abstract: "Make workspaces (tenants).", subcommands: [Create.self])

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a workspace and print it as JSON, with the key for the widget's snippet.")

    @OptionGroup var data: DataOptions
    @Argument(help: "The workspace's name.") var name: String
    @Option(
      help: ArgumentHelp(
        "Its public key, 8 to 64 letters, digits, - and _ (random).", valueName: "key"))
    var publicKey: String?

    func validate() throws {
      guard (1...100).contains(name.count) else {
        throw ValidationError("a workspace's name has 1 to 100 characters")
      }
      guard let publicKey else { return }
      let isKey = publicKey.utf8.allSatisfy { byte in
        0x30...0x39 ~= byte || 0x61...0x7A ~= byte | 0x20 || byte == 0x2D || byte == 0x5F
      }
      guard isKey, (8...64).contains(publicKey.utf8.count) else {
        throw ValidationError("a public key has 8 to 64 letters, digits, - and _")
      }
    }

    func run() async throws {
      let key = publicKey ?? "pk_" + SecureRandom.token(byteCount: 18)
      let made = try await Database.withCurrentSchema(data.settings()) { connection in
        if try connection.ask(Workspace.withPublicKey(key)) != nil {
          throw CommandFailure("another workspace has the public key \(key)")
        }
        return try connection.ask(
          Workspace.create(id: .fresh(), name: name, publicKey: key))
      }
      guard let made else { throw CommandFailure("there is a workspace \"\(name)\" already") }
      Terminal.answer(
        """
        {"workspace":"\(made.id)","name":\(jsonText(made.name)),\
        "public_key":\(jsonText(made.publicKey))}
        """)
    }
  }
}

struct OperatorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operator", abstract: "Make operators.", subcommands: [Create.self])

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make an operator, or add an existing one to another workspace.",
      discussion: """
        Without --password it is asked for, or read from the first line of standard input: other \
        people of this machine can see the arguments of a command.
        """)

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The workspace's name.", valueName: "name")) var workspace: String
    @Option(help: ArgumentHelp("The address to log in with.", valueName: "address"))
    var email: String
    @Option(help: "The name that visitors see.") var name: String
    @Option(help: "owner, admin or agent.") var role = "agent"
    @Option(help: "At least 8 characters.") var password: String?

    func validate() throws {
      guard ["owner", "admin", "agent"].contains(role) else {
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
        if let known = try connection.ask(Operator.withEmail(email)) {
          try connection.ask(Operator.join(known.id, workspace: workspace.id, membership: role))
          Terminal.tell("\(email) is a member now, with the password that it has")
          return answer(id: known.id, name: known.name)
        }
        let made = try connection.ask(
          Operator.create(
            id: .fresh(), email: email, name: name, passwordHash: Password.hash(askPassword()),
            workspace: workspace.id, membership: role))
        guard let made else { throw CommandFailure("there is an operator \(email) already") }
        answer(id: made.id, name: made.name)
      }
    }

    private func askPassword() throws -> String {
      let given = password ?? Terminal.readPassword(prompt: "Password for \(email): ")
      guard let given, given.count >= 8 else {
        throw CommandFailure("a password has at least 8 characters")
      }
      guard given.utf8.count <= Password.byteCountMax else {
        throw CommandFailure("a password has at most \(Password.byteCountMax) bytes")
      }
      return given
    }

    private func answer(id: Identifier, name: String) {
      Terminal.answer(
        """
        {"operator":"\(id)","email":\(jsonText(email)),"name":\(jsonText(name)),\
        "role":"\(role)"}
        """)
    }
  }
}

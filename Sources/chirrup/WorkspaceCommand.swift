/// `chirrup workspace`: creates tenants, and sets the websites that may embed their widget.
import ArgumentParser
import Directory
import Kernel
import OpenSSL
import Postgres
import Primitives
import Wire

struct WorkspaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workspace",
    abstract: "Create workspaces (tenants), and set their allowed origins.",
    subcommands: [Create.self, Origins.self])

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create a workspace and print it as JSON, with the public key for the widget.")

    @OptionGroup var data: DataOptions
    @Argument(help: "The workspace's name.") var name: String
    @Option(
      help: ArgumentHelp(
        "Its public key: 8 to 64 letters, digits, - and _ (default: random).", valueName: "key"))
    var publicKey: String?

    func validate() throws {
      guard (1...100).contains(name.count) else {
        throw ValidationError("a workspace's name must have 1 to 100 characters")
      }
      guard let publicKey else { return }
      let isKey = publicKey.utf8.allSatisfy { byte in
        byte.isASCIIDigit || byte.isASCIILetter || byte == 0x2D || byte == 0x5F
      }
      guard isKey, (8...64).contains(publicKey.utf8.count) else {
        throw ValidationError("a public key must have 8 to 64 letters, digits, - and _")
      }
    }

    func run() async throws {
      let key = publicKey ?? "pk_" + SecureRandom.token(byteCount: 18)
      let made = try await Database.withCurrentSchema(data.settings()) { connection in
        if try connection.run(Workspace.withPublicKey(key)) != nil {
          throw CommandFailure("another workspace has the public key \(key); choose another one")
        }
        return try connection.run(
          Workspace.create(id: .random(), name: name, publicKey: key))
      }
      guard let made else { throw CommandFailure("a workspace \"\(name)\" already exists") }
      Terminal.result(
        """
        {"workspace":"\(made.id)","name":\(jsonText(made.name)),\
        "public_key":\(jsonText(made.publicKey))}
        """)
    }
  }

  struct Origins: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Set or print the websites that may embed the widget.",
      discussion: """
        Prints the list as JSON. Without --allow and --any nothing is changed. A running gateway \
        applies a change within five seconds; open connections stay open.
        """)

    static let countMax = 64

    @OptionGroup var data: DataOptions
    @Argument(help: "The workspace's name.") var name: String
    @Option(
      help: ArgumentHelp(
        "An origin like https://example.com. Repeatable. Replaces the list.",
        valueName: "origin"))
    var allow: [String] = []
    @Flag(help: "Remove the list: the origins of the gateway's settings apply.") var any = false

    func validate() throws {
      guard allow.isEmpty || !any else {
        throw ValidationError("--any and --allow exclude each other")
      }
      guard allow.count <= Self.countMax else {
        throw ValidationError("a workspace may have at most \(Self.countMax) origins")
      }
      for origin in allow where WebOrigin.normalize(origin) == nil {
        throw ValidationError(
          "\(origin) is not an origin: give scheme, host and optionally a port, as in "
            + "https://example.com or https://xn--bcher-kva.example:8443")
      }
    }

    func run() async throws {
      let settings = try await data.settings()
      let origins = try Database.withCurrentSchema(settings) { connection in
        let workspace = try connection.workspace(named: name)
        guard any || !allow.isEmpty else { return workspace.allowedOrigins }
        let list = any ? nil : allow.compactMap { WebOrigin.normalize($0) }
        try connection.run(Workspace.setOrigins(workspace.id, list))
        return list
      }
      let json = origins.map { "[" + $0.map { jsonText($0) }.joined(separator: ",") + "]" }
      Terminal.result(#"{"workspace":\#(jsonText(name)),"allowed_origins":\#(json ?? "null")}"#)
    }
  }
}

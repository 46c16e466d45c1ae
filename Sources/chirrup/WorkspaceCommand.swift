/// `chirrup workspace`: the tenants, and which websites may show their widget.
import ArgumentParser
import Directory
import OpenSSL
import Postgres
import Primitives
import Wire

struct WorkspaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workspace", abstract: "Make workspaces (tenants).",
    subcommands: [Create.self, Origins.self])

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

  struct Origins: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Set which websites may show the widget, or print the list as JSON.",
      discussion: """
        Without --allow and --any nothing is changed. A running gateway sees a change within five \
        seconds; connections that are open stay.
        """)

    static let countMax = 64

    @OptionGroup var data: DataOptions
    @Argument(help: "The workspace's name.") var name: String
    @Option(
      help: ArgumentHelp(
        "An origin like https://example.com; may be repeated. The list is replaced.",
        valueName: "origin"))
    var allow: [String] = []
    @Flag(help: "No list: the origins of the gateway's settings.") var any = false

    func validate() throws {
      guard allow.isEmpty || !any else {
        throw ValidationError("--any and --allow exclude each other")
      }
      guard allow.count <= Self.countMax else {
        throw ValidationError("a workspace lists at most \(Self.countMax) origins")
      }
      for origin in allow where WebOrigin.normalize(origin) == nil {
        throw ValidationError(
          "\(origin) is no origin: it is scheme, host and perhaps a port, as in "
            + "https://example.com or https://xn--bcher-kva.example:8443")
      }
    }

    func run() async throws {
      let settings = try await data.settings()
      let origins = try Database.withCurrentSchema(settings) { connection in
        let workspace = try connection.workspace(named: name)
        guard any || !allow.isEmpty else { return workspace.allowedOrigins }
        let list = any ? nil : allow.compactMap { WebOrigin.normalize($0) }
        try connection.ask(Workspace.setOrigins(workspace.id, list))
        return list
      }
      let json = origins.map { "[" + $0.map { jsonText($0) }.joined(separator: ",") + "]" }
      Terminal.answer(#"{"workspace":\#(jsonText(name)),"allowed_origins":\#(json ?? "null")}"#)
    }
  }
}

/// `chirrup identity`: the secrets with which a workspace's host site signs its visitors'
/// identities.
import ArgumentParser
import Directory
import Kernel
import OpenSSL
import Postgres
import Primitives
import Settings

struct IdentityCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "identity",
    abstract: "List, rotate and end the secrets that sign visitors' identities.",
    subcommands: [List.self, Rotate.self, End.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the accepted secrets by their ids, one JSON object per line, newest first.")

    @OptionGroup var data: DataOptions
    @Argument(help: "The workspace's name.") var workspace: String

    func run() async throws {
      let settings = try await data.settings()
      let rows = try Database.withCurrentSchema(settings) { connection in
        let workspace = try connection.workspace(named: workspace)
        return try connection.run(
          IdentitySecrets.page(
            of: workspace.id, after: nil, limit: Int(IdentitySecrets.acceptedMax)))
      }
      for row in 0..<rows.count { IdentityCommand.print(rows, row) }
    }
  }

  struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a new secret, and print it as JSON: it cannot be shown again.",
      discussion: """
        The others are accepted for --overlap-hours more. Run it with the gateway's settings, so \
        that the secret is encrypted with the same credentials_key.
        """)

    @OptionGroup var data: DataOptions
    @Argument(help: "The workspace's name.") var workspace: String
    @Option(
      help: ArgumentHelp(
        "Hours for which the other secrets are accepted: 0 to 720; 0 ends them now.",
        valueName: "hours"))
    var overlapHours = IdentitySecrets.overlapHours

    func validate() throws {
      guard (0...IdentitySecrets.overlapHoursMax).contains(overlapHours) else {
        throw ValidationError(
          "--overlap-hours must be 0 to \(IdentitySecrets.overlapHoursMax)")
      }
    }

    func run() async throws {
      let settings = try await data.settings()
      let secret = IdentitySecrets.prefix + SecureRandom.token()
      let rows = try Database.withCurrentSchema(settings) { connection in
        let workspace = try connection.workspace(named: workspace)
        let box = try Database.secretBox(settings, connection)
        try Database.sealIdentitySecrets(in: workspace.id, box, connection)
        let id = Identifier.random()
        let sealed = box.seal(
          Array(secret.utf8), place: IdentitySecrets.place(id, in: workspace.id))
        return try connection.run(
          IdentitySecrets.add(
            id, sealed, overlapHours: overlapHours, by: .command(in: workspace.id)))
      }
      guard !rows.isEmpty else {
        throw CommandFailure(
          "\(IdentitySecrets.acceptedMax) secrets are accepted; end one with chirrup identity end, "
            + "or all with --overlap-hours 0")
      }
      IdentityCommand.print(rows, 0, secret: secret)
    }
  }

  struct End: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "End a secret now: identities that it signed are refused.")

    @OptionGroup var data: DataOptions
    @Argument(help: "The workspace's name.") var workspace: String
    @Argument(help: "The secret's id, as chirrup identity list prints it.") var id: String

    func run() async throws {
      let settings = try await data.settings()
      let hasEnded = try Database.withCurrentSchema(settings) { connection in
        let workspace = try connection.workspace(named: workspace)
        guard let id = Identifier(id) else { return false }
        return try connection.run(IdentitySecrets.end(id, by: .command(in: workspace.id)))
      }
      guard hasEnded else {
        throw CommandFailure("no accepted secret of \(workspace) has the id \(id)")
      }
      Terminal.note("the secret \(id) has ended")
    }
  }

  private static func print(_ rows: Rows, _ row: Int, secret: String? = nil) {
    guard let id = rows.uuid(row, 0), let made = rows.time(row, 1) else { return }
    let end = rows.time(row, 2).map { "\"\($0)\"" } ?? "null"
    let shown = secret.map { ",\"secret\":\(jsonText($0))" } ?? ""
    Terminal.result(
      #"{"identity_secret":"\#(id)","created_at":"\#(made)","ends_at":\#(end)\#(shown)}"#)
  }
}

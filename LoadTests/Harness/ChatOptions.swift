/// Where the tokens of the gateway's chat come from, and whose processor time is counted.
import ArgumentParser
import Primitives

struct ChatOptions: ParsableArguments {
  @Option(help: "The gateway's binary, to make tokens with.")
  var chirrup: String?
  @Option(help: "The gateway's data directory, which holds its PostgreSQL.")
  var dataDir: String?
  @Option(help: "The gateway's PostgreSQL, where it is not in the data directory.")
  var databaseUrl: String?
  @Option(help: "The workspace of the tokens.")
  var workspace = "demo"

  func check() throws {
    guard chirrup != nil, dataDir != nil || databaseUrl != nil else {
      throw ValidationError(
        "the chat needs tokens: give --chirrup PATH, and --data-dir or --database-url")
    }
  }

  var isGiven: Bool { chirrup != nil || dataDir != nil || databaseUrl != nil }

  /// The gateway that runs on the data directory.
  var gateway: Int? { dataDir.flatMap { Place.process(in: $0 + "/gateway.lock") } }

  /// New visitors, each with a session.
  func visitors(_ count: Int) throws -> [(token: String, session: Identifier)] {
    try make("visitor", count).compactMap { credential in
      credential.session.map { (credential.token, $0) }
    }
  }

  func operatorToken() throws -> String {
    guard let first = try make("operator", 1).first else {
      throw CredentialFailure.tooFew("operator", wanted: 1, found: 0)
    }
    return first.token
  }

  private func make(_ kind: String, _ count: Int) throws -> [Credential] {
    let place =
      databaseUrl.map { ["--database-url", $0] } ?? dataDir.map { ["--data-dir", $0] } ?? []
    let made = try Credentials.make(
      chirrup: chirrup ?? "", kind: kind, count: count, workspace: workspace, place: place,
      lifetimeSeconds: 86_400)
    guard made.count == count else {
      throw CredentialFailure.tooFew(kind, wanted: count, found: made.count)
    }
    return made
  }
}

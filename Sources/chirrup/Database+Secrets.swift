/// The secrets in the database that `credentials_key` encrypts: the keys that sign tokens, and the
/// secrets that sign visitors' identities.
import Directory
import Gateway
import Kernel
import OpenSSL
import Postgres
import Primitives
import Settings
import Tokens

extension Database {
  /// The first of the keys that sign tokens, shared by all gateways of this database. The first
  /// caller creates it.
  static func firstKey(
    _ settings: Settings, _ connection: BlockingConnection
  ) throws -> SigningKey.Stored {
    let id = SigningKey.firstID
    let candidate = SigningKey.stored(
      SecureRandom.bytes(32), id: id, by: SecretBox(configured: settings.credentialsKeys))
    guard let key = try connection.run(SigningKey.getOrCreate(id: id, candidate: candidate)) else {
      throw CommandFailure("the database returned no signing key")
    }
    return key
  }

  /// The first key, 32 bytes.
  static func signingKey(
    _ settings: Settings, _ connection: BlockingConnection
  ) throws -> [UInt8] {
    try open(firstKey(settings, connection), settings).secret
  }

  private static func open(
    _ stored: SigningKey.Stored, _ settings: Settings
  ) throws -> SigningKey {
    guard let key = stored.open(by: SecretBox(configured: settings.credentialsKeys)) else {
      throw CommandFailure(
        "the key \(stored.id), which signs tokens, is encrypted with a credentials_key that "
          + "\(settings.credentialsKeys.isEmpty ? "is not set" : "is not among the set ones"). "
          + "Set it as for the other gateways of this database (CHIRRUP_CREDENTIALS_KEY_FILE); "
          + "if it is lost, see config/SECURITY.md")
    }
    return key
  }

  /// The keys of tokens; the first caller creates the first one.
  static func tokenAuthority(
    _ settings: Settings, _ connection: BlockingConnection
  ) throws -> TokenAuthority {
    _ = try signingKey(settings, connection)
    let now = SystemClock.wallTime()
    let keys = Gateway.tokenKeys(
      try connection.run(SigningKey.all)
        .filter { $0.id == SigningKey.firstID || $0.endsAt.map { now < $0 } ?? true }
        .map { try open($0, settings) })
    guard !keys.isEmpty else {
      throw CommandFailure(
        "no key of the table signing_keys has \(TokenAuthority.secretBytesMin) bytes or more")
    }
    return TokenAuthority(keys: keys)
  }

  /// Seals and opens what `credentials_key` encrypts.
  static func secretBox(
    _ settings: Settings, _ connection: BlockingConnection
  ) throws -> SecretBox {
    SecretBox(
      configured: settings.credentialsKeys, signingKey: try signingKey(settings, connection))
  }

  /// Encrypts the keys that are in clear, or encrypted with an older `credentials_key`. Without the
  /// setting they stay in clear.
  static func sealSigningKeys(_ settings: Settings, _ connection: BlockingConnection) throws {
    guard let box = SecretBox(configured: settings.credentialsKeys) else { return }
    for key in try connection.run(SigningKey.all) {
      if let statement = SigningKey.seal(key, by: box) { try connection.run(statement) }
    }
  }

  /// Encrypts identity secrets that are in clear, from before they were encrypted.
  ///
  /// - Parameter workspace: only of this one; nil: of all.
  static func sealIdentitySecrets(
    in workspace: Identifier? = nil, _ box: SecretBox, _ connection: BlockingConnection
  ) throws {
    let limit = 1_000
    var found = 0
    repeat {
      let clear = try connection.run(
        IdentitySecrets.inClear(in: workspace, limit: Int64(limit)))
      found = clear.count
      for (workspace, secret) in clear {
        let id = Identifier.random()
        let sealed = box.seal(
          Array(secret.utf8), place: IdentitySecrets.place(id, in: workspace))
        try connection.run(IdentitySecrets.move(secret, of: workspace, to: id, sealed))
      }
    } while found == limit
  }
}

/// The contents of a backup, read from a server that has recovered it.
import DataRetention
import Directory
import Postgres
import Settings

struct BackupContents: CustomStringConvertible {
  /// Whether the secrets in the database (keys of tokens, of visitors' identities, of webhooks) can
  /// be read by whoever has the backup.
  enum Secrets: String {
    case clear
    /// Encrypted, with the configured `credentials_key`.
    case sealed
    /// Encrypted, with a key that is not configured here.
    case foreign
    case unknown

    var advice: String {
      switch self {
      case .clear:
        "Its secrets are not encrypted: whoever reads it can sign tokens. Protect it like a "
          + "password, or set credentials_key (config/SECURITY.md)."
      case .sealed:
        "Its secrets are encrypted with credentials_key, which is not in it: without that key "
          + "nobody can log in. Keep a copy of it at another place than the backups."
      case .foreign:
        "Its secrets are encrypted with a credentials_key that is not configured here. A gateway "
          + "on this database does not start without it (CHIRRUP_CREDENTIALS_KEY_FILE)."
      case .unknown:
        "Keep credentials_key too, if it is set, at another place: no backup contains it."
      }
    }
  }

  var messages: Int64
  var conversations: Int64
  var secrets: Secrets

  init(_ connection: BlockingConnection, _ settings: Settings) throws {
    (messages, conversations) = try StoredData(connection).counts()
    let box = SecretBox(configured: settings.credentialsKeys)
    let sealed = try connection.run(SigningKey.all).filter(\.isEncrypted)
    secrets =
      sealed.isEmpty ? .clear : sealed.allSatisfy { $0.open(by: box) != nil } ? .sealed : .foreign
  }

  var description: String { "\(messages) messages in \(conversations) conversations" }

  var members: CommandOutput.Members {
    [
      ("messages", .number(messages)), ("conversations", .number(conversations)),
      ("secrets", .text(secrets.rawValue)),
    ]
  }
}

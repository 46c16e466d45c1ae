import Directory
import Settings

/// The keys of tokens that this gateway has opened. One that another gateway has encrypted again,
/// with a `credentials_key` that this gateway does not have, stays usable here until its end.
struct KnownKeys {
  private let box: SecretBox?
  /// By id; only those of the last answer.
  private var secrets: [String: [UInt8]] = [:]
  /// Keys that this gateway cannot use. Their tokens are refused here.
  private(set) var unreadable: [String] = []

  init(_ settings: Settings) { box = SecretBox(configured: settings.credentialsKeys) }

  /// The keys of an answer of the database that this gateway can use.
  mutating func open(_ stored: [SigningKey.Stored]) -> [SigningKey] {
    unreadable = []
    var keys: [SigningKey] = []
    for key in stored {
      if let opened = key.open(by: box) {
        keys.append(opened)
      } else if let secret = secrets[key.id] {
        keys.append(key.opened(secret))
      } else {
        unreadable.append(key.id)
      }
    }
    secrets = Dictionary(
      keys.map { ($0.id, $0.secret) }, uniquingKeysWith: { first, _ in first })
    return keys
  }
}

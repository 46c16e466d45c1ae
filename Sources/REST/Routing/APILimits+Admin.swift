/// Limits of the routes for administrators. The number of rows of one workspace is a limit of the
/// table (`Tags.countMax`, …).
extension APILimits {
  static let origins = 64
  static let tagsOfConversation = 20
  /// A tag has at most 50 characters, each of up to 4 bytes.
  static let tagBytes = 200
  static let shortcutBytes = 128
  static let altTextBytes = 4_096
  static let keywordBytes = 512
  static let replies = 10
  /// A title has at most 200 characters, each of up to 4 bytes.
  static let titleBytes = 800
  static let menuActions = 12
  static let menuNameBytes = 100
  static let credentialBytes = 8_192
  static let keyNameBytes = 100
  static let hitsDefault = 20
  static let snippetCharacters = 160
  static let idempotencyKeyBytes = 255
  /// Remembered keys of one caller.
  static let idempotencyKeys: Int64 = 10_000
  /// A longer response is not stored: its request may run again.
  static let idempotencyBodyBytes = 65_536
}

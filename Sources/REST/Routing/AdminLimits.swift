/// The bounds of what administrators may set up.
extension APILimits {
  // What one workspace may have.
  static let tags: Int64 = 1_000
  static let replyObjects: Int64 = 2_000
  static let members: Int64 = 1_000
  static let origins = 64
  static let tagsOfConversation = 20
  /// A tag has at most 50 characters, each of up to 4 bytes.
  static let tagBytes = 200
  static let shortcutBytes = 128
  static let altTextBytes = 4_096
  /// Fewer characters than this are guessed too soon (NIST SP 800-63B §5.1.1.2).
  static let passwordCharactersMin = 10
  static let intents: Int64 = 500
  static let keywordBytes = 512
  static let replies = 10
  static let menus: Int64 = 100
  static let menuActions = 12
  static let menuNameBytes = 100
  static let credentials: Int64 = 200
  static let credentialBytes = 8_192
  static let keys: Int64 = 200
  static let keyNameBytes = 100
  static let hitsDefault = 20
  static let snippetCharacters = 160
  static let idempotencyKeyBytes = 255
  /// Keys of one caller that are remembered at once.
  static let idempotencyKeys: Int64 = 10_000
  /// A longer answer is not kept: its write may run again.
  static let idempotencyBodyBytes = 65_536
}

import OpenSSL
import Primitives

/// What encrypts the secrets that have to be read again: those of other services (`credentials`)
/// and of webhooks. AES-256-GCM under a key that is not in the database.
///
/// Without a key in the configuration one is derived from the key that signs tokens, so that a
/// gateway starts without any; but that one lies in the same database, so it protects only what
/// leaves it without it. Secrets name the key that sealed them: a configured key can be set, and
/// exchanged, without losing what older ones have sealed.
public struct SecretBox: Sendable {
  public struct Sealed: Sendable, Equatable {
    public var keyID: String
    /// Nonce, ciphertext, tag.
    public var bytes: [UInt8]

    public init(keyID: String, bytes: [UInt8]) {
      self.keyID = keyID
      self.bytes = bytes
    }
  }

  private struct Key: Sendable {
    var id: String
    var bytes: [UInt8]
  }

  /// The first one seals, all of them open.
  private let keys: [Key]

  /// - Parameter configured: the texts of `credentials_key`, the newest first.
  public init(configured: [String], signingKey: [UInt8]) {
    let derived = HMACSHA256.code(for: Array("chirrup credentials".utf8), key: signingKey)
    keys =
      configured.map { SecretBox.key(of: Array($0.utf8)) } + [Key(id: "signing", bytes: derived)]
  }

  /// Also hides how long the text is; its name tells nothing of it.
  private static func key(of text: [UInt8]) -> Key {
    let bytes = HMACSHA256.code(for: Array("chirrup credentials".utf8), key: text)
    let name = HMACSHA256.code(for: Array("name".utf8), key: bytes)
    return Key(id: "key-" + Base64.url.encode(Array(name.prefix(6))), bytes: bytes)
  }

  /// A digest by which a text is recognised and not guessed, though it may hold a password.
  public func digest(of text: [UInt8]) -> [UInt8] { SecretBox.digest(of: text, keys[0]) }

  /// Whether one of the keys made this digest of the text.
  public func recognises(_ text: [UInt8], by digest: [UInt8]) -> Bool {
    keys.contains { SecretBox.digest(of: text, $0) == digest }
  }

  private static func digest(of text: [UInt8], _ key: Key) -> [UInt8] {
    let own = HMACSHA256.code(for: Array("digest".utf8), key: key.bytes)
    return HMACSHA256.code(for: text, key: own)
  }

  /// `place` says where it is kept, for example `webhook:` and its id: it opens only there.
  public func seal(_ secret: [UInt8], place: String) -> Sealed {
    Sealed(
      keyID: keys[0].id,
      bytes: AES256GCM.seal(secret, key: keys[0].bytes, context: Array(place.utf8)))
  }

  /// Nil when its key is not configured any more, or it was changed.
  public func open(_ sealed: Sealed, place: String) -> [UInt8]? {
    guard let key = keys.first(where: { $0.id == sealed.keyID }) else { return nil }
    return AES256GCM.open(sealed.bytes, key: key.bytes, context: Array(place.utf8))
  }
}

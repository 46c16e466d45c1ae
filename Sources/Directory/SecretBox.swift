import OpenSSL
import Primitives

/// Encrypts secrets that must be readable again, of other services (`credentials`) and of webhooks:
/// AES-256-GCM with a key from the configuration.
///
/// Without a configured key it derives one from the key that signs tokens, so that a gateway starts
/// without configuration. That key is then in clear in the same database: it protects only data
/// that leaves the database without it. A sealed secret has the id of its key, so configured keys
/// can be rotated.
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

  /// The first key seals; all keys open.
  private let keys: [Key]

  /// - Parameter configured: the values of the setting `credentials_key`, newest first.
  public init(configured: [String], signingKey: [UInt8]) {
    let derived = HMACSHA256.code(for: Array("chirrup credentials".utf8), key: signingKey)
    keys =
      configured.map { SecretBox.key(of: Array($0.utf8)) } + [Key(id: "signing", bytes: derived)]
  }

  /// With configured keys only; nil if there is none.
  public init?(configured: [String]) {
    guard !configured.isEmpty else { return nil }
    keys = configured.map { SecretBox.key(of: Array($0.utf8)) }
  }

  /// The ids of the keys, the one that seals first. They do not reveal the keys.
  public var keyIDs: [String] { keys.map(\.id) }

  /// Whether a secret was sealed with the key that seals now.
  public func isCurrent(_ sealed: Sealed) -> Bool { sealed.keyID == keys[0].id }

  /// The id does not reveal the text.
  private static func key(of text: [UInt8]) -> Key {
    let bytes = HMACSHA256.code(for: Array("chirrup credentials".utf8), key: text)
    let name = HMACSHA256.code(for: Array("name".utf8), key: bytes)
    return Key(id: "key-" + Base64.url.encode(Array(name.prefix(6))), bytes: bytes)
  }

  /// A keyed digest of a text that may hold a password: recognisable, but not open to guessing.
  public func digest(of text: [UInt8]) -> [UInt8] { SecretBox.digest(of: text, keys[0]) }

  /// Whether this is the digest of the text under one of the keys.
  public func recognises(_ text: [UInt8], by digest: [UInt8]) -> Bool {
    keys.contains { SecretBox.digest(of: text, $0) == digest }
  }

  /// The same for the beginning of a digest, where a whole one has no place. In constant time.
  public func recognises(_ text: [UInt8], byBeginning beginning: [UInt8]) -> Bool {
    precondition(beginning.count >= 8, "a shorter one can be guessed")
    let known = keys.map { Array(SecretBox.digest(of: text, $0).prefix(beginning.count)) }
    return known.filter { constantTimeEquals($0, beginning) }.count > 0
  }

  private static func digest(of text: [UInt8], _ key: Key) -> [UInt8] {
    let own = HMACSHA256.code(for: Array("digest".utf8), key: key.bytes)
    return HMACSHA256.code(for: text, key: own)
  }

  /// A signature by which this gateway, and others with the same keys, recognise what they wrote.
  public func signature(of text: [UInt8]) -> [UInt8] { SecretBox.signature(of: text, keys[0]) }

  public func isSignature(_ signature: [UInt8], of text: [UInt8]) -> Bool {
    // All keys in any case, each in constant time.
    let known = keys.map { SecretBox.signature(of: text, $0) }
    return known.filter { constantTimeEquals($0, signature) }.count > 0
  }

  private static func signature(of text: [UInt8], _ key: Key) -> [UInt8] {
    let own = HMACSHA256.code(for: Array("signature".utf8), key: key.bytes)
    return HMACSHA256.code(for: text, key: own)
  }

  /// - Parameter place: where the secret is stored, such as `webhook:` and an id. It opens only
  ///   with the same place (authenticated data of the cipher).
  public func seal(_ secret: [UInt8], place: String) -> Sealed {
    Sealed(
      keyID: keys[0].id,
      bytes: AES256GCM.seal(secret, key: keys[0].bytes, context: Array(place.utf8)))
  }

  /// Nil if the key is not configured any longer, or if secret or place do not match.
  public func open(_ sealed: Sealed, place: String) -> [UInt8]? {
    guard let key = keys.first(where: { $0.id == sealed.keyID }) else { return nil }
    return AES256GCM.open(sealed.bytes, key: key.bytes, context: Array(place.utf8))
  }
}

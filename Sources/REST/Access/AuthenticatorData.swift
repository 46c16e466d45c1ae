/// The bytes that an authenticator signs besides the browser's data (WebAuthn §6.1): a fixed
/// layout, so that no CBOR is read.
///
/// A new passkey's public key stands in these bytes too, in CBOR (COSE), and the browser gives the
/// same key as SubjectPublicKeyInfo (`getPublicKey()`, WebAuthn §5.2.1.1), which is used instead.
/// Without attestation no signature covers either of them: both are statements of the page of a
/// member who is logged in and has entered the password, so neither is more credible. A page that
/// lies registers a key with which it can sign, as it could with any passkey of its own.
struct AuthenticatorData {
  private static let fixedBytes = 37
  /// WebAuthn §4, Credential ID.
  static let credentialBytesMax = 1_023

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let userPresent = Flags(rawValue: 0x01)
    static let userVerified = Flags(rawValue: 0x04)
    static let backupEligible = Flags(rawValue: 0x08)
    static let backedUp = Flags(rawValue: 0x10)
    static let attested = Flags(rawValue: 0x40)
    static let extensions = Flags(rawValue: 0x80)
  }

  /// The SHA-256 of the host name.
  var relyingPartyHash: [UInt8]
  private var flags: Flags
  var signCount: Int64
  /// Of a new passkey.
  var credentialID: [UInt8]?

  var isUserPresent: Bool { flags.contains(.userPresent) }
  var isUserVerified: Bool { flags.contains(.userVerified) }
  var isSynced: Bool { flags.contains(.backedUp) }

  /// Nil if the bytes are malformed.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= AuthenticatorData.fixedBytes else { return nil }
    relyingPartyHash = Array(bytes[..<32])
    flags = Flags(rawValue: bytes[32])
    signCount = bytes[33..<37].reduce(0) { $0 << 8 | Int64($1) }
    guard flags.contains(.backupEligible) || !flags.contains(.backedUp) else { return nil }
    var rest = bytes[AuthenticatorData.fixedBytes...]
    if flags.contains(.attested) {
      // AAGUID (16 bytes), the length of the id (2), the id, and the key in CBOR.
      guard rest.count > 18 else { return nil }
      let length = Int(rest[rest.startIndex + 16]) << 8 | Int(rest[rest.startIndex + 17])
      rest = rest.dropFirst(18)
      guard 1...AuthenticatorData.credentialBytesMax ~= length, rest.count > length else {
        return nil
      }
      credentialID = Array(rest.prefix(length))
    } else {
      guard rest.isEmpty != flags.contains(.extensions) else { return nil }
    }
  }
}

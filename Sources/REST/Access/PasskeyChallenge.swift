/// The challenge of a passkey's registration or login, as the client carries it from the first
/// request to the second: encrypted and signed by the gateway (AES-GCM), so that nothing is stored
/// for requests of strangers. A login that succeeds uses it up (`Passkey.use`).
import Directory
import OpenSSL
import Primitives

struct PasskeyChallenge {
  static let seconds: Int64 = 300
  /// WebAuthn §13.4.3: at least 16.
  static let byteCount = 32

  /// A challenge is valid for its own purpose only.
  enum Purpose {
    case registration(of: Identifier)
    case login

    var place: String {
      switch self {
      case .registration(let account): "passkey registration:\(account)"
      case .login: "passkey login"
      }
    }
  }

  var bytes: [UInt8]
  var expiresAt: WallTime

  init(_ bytes: [UInt8] = SecureRandom.bytes(byteCount), now: WallTime) {
    self.bytes = bytes
    expiresAt = now.advanced(bySeconds: PasskeyChallenge.seconds)
  }

  var digest: [UInt8] { SHA256.digest(bytes) }

  func sealed(_ secrets: SecretBox, for purpose: Purpose) -> String {
    var text: [UInt8] = []
    text.append(decimal: expiresAt.microseconds)
    let sealed = secrets.seal(bytes + text, place: purpose.place)
    return "\(sealed.keyID).\(Base64.url.encode(sealed.bytes))"
  }

  /// Nil if it is not one of this gateway's for this purpose, or has expired.
  init?(_ text: String, _ secrets: SecretBox, for purpose: Purpose, now: WallTime) {
    let parts = text.split(separator: ".")
    guard parts.count == 2, let sealed = Base64.url.decode(parts[1].utf8),
      let opened = secrets.open(
        SecretBox.Sealed(keyID: String(parts[0]), bytes: sealed), place: purpose.place),
      opened.count > PasskeyChallenge.byteCount,
      let expiry = Int64(
        String(decoding: opened[PasskeyChallenge.byteCount...], as: UTF8.self)),
      expiry > now.microseconds
    else { return nil }
    bytes = Array(opened[..<PasskeyChallenge.byteCount])
    expiresAt = WallTime(microseconds: expiry)
  }
}

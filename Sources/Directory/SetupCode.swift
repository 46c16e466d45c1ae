import OpenSSL
public import Primitives

/// The one-time code in the link that `chirrup serve` prints while its database has no operator.
/// It lets its bearer create the first owner.
///
/// Nothing is stored: a code is 128 random bits and its expiry, encrypted and signed with the key
/// of `SecretBox` (AES-256-GCM, whose tag of 128 bits is compared in constant time). So each
/// gateway of a database accepts the codes of the others. It works once, because
/// `FirstOwner.create` does nothing in a database with an operator.
public enum SetupCode {
  /// The lifetime of a code. A gateway that is started again prints a new one.
  public static let seconds: Int64 = 24 * 3_600
  /// Bytes of the longest code that is read.
  public static let byteCountMax = 256
  private static let randomBytes = 16
  private static let place = "setup code"

  public static func issue(_ secrets: SecretBox, now: WallTime) -> String {
    let expiry = now.microseconds + seconds * 1_000_000
    let random = Base64.url.encode(SecureRandom.bytes(randomBytes))
    let sealed = secrets.seal(Array("\(expiry) \(random)".utf8), place: place)
    return "\(sealed.keyID).\(Base64.url.encode(sealed.bytes))"
  }

  public enum Verdict: Sendable, Equatable {
    case valid, expired, unknown
  }

  public static func check(_ text: String, _ secrets: SecretBox, now: WallTime) -> Verdict {
    let parts = text.split(separator: ".")
    guard parts.count == 2, let bytes = Base64.url.decode(parts[1].utf8),
      let opened = secrets.open(
        SecretBox.Sealed(keyID: String(parts[0]), bytes: bytes), place: place),
      let fields = String(validating: opened, as: UTF8.self)?.split(separator: " "),
      fields.count == 2, let expiry = Int64(fields[0])
    else { return .unknown }
    return expiry > now.microseconds ? .valid : .expired
  }
}

import OpenSSL
import Primitives

/// The signature with which a receiver verifies that a delivery is authentic and recent:
/// `Chirrup-Signature: t=UNIX,v1=HEX`. HEX is the HMAC-SHA-256 (RFC 2104) of `UNIX.body`; the key
/// is the text of the webhook's secret, `whsec_…`.
public enum WebhookSignature {
  public static let secretPrefix = "whsec_"

  /// Generates a secret of 256 random bits.
  public static func makeSecret() -> String { secretPrefix + SecureRandom.token() }

  public static func header(secret: [UInt8], unixSeconds: Int64, body: [UInt8]) -> String {
    let code = HMACSHA256.code(for: Array("\(unixSeconds).".utf8) + body, key: secret)
    return "t=\(unixSeconds),v1=\(code.hexadecimal)"
  }
}

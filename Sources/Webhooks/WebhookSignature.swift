import OpenSSL
import Primitives

/// How a receiver knows that a delivery is ours, and is not an old one that somebody kept:
/// `Chirrup-Signature: t=UNIX,v1=HEX`, where HEX is the HMAC-SHA-256 of `UNIX.body` under the
/// webhook's secret, as it was shown: `whsec_…`.
public enum WebhookSignature {
  public static let secretPrefix = "whsec_"

  /// A new secret: 256 random bits.
  public static func makeSecret() -> String { secretPrefix + SecureRandom.token() }

  public static func header(secret: [UInt8], unixSeconds: Int64, body: [UInt8]) -> String {
    let code = HMACSHA256.code(for: Array("\(unixSeconds).".utf8) + body, key: secret)
    return "t=\(unixSeconds),v1=\(code.hexadecimal)"
  }
}

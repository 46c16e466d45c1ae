import OpenSSL

/// How a receiver knows that a delivery is ours, and is not an old one that somebody kept:
/// `Chirrup-Signature: t=UNIX,v1=HEX`, where HEX is the HMAC-SHA-256 of `UNIX.body` under the
/// webhook's secret, as it was shown: `whsec_…`.
public enum WebhookSignature {
  public static let secretPrefix = "whsec_"

  /// A new secret: 256 random bits.
  public static func makeSecret() -> String { secretPrefix + SecureRandom.token() }

  public static func header(secret: [UInt8], unixSeconds: Int64, body: [UInt8]) -> String {
    let code = HMACSHA256.code(for: Array("\(unixSeconds).".utf8) + body, key: secret)
    let digits = Array("0123456789abcdef".utf8)
    let hex = code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    return "t=\(unixSeconds),v1=" + String(decoding: hex, as: UTF8.self)
  }
}

/// One-time codes by time (TOTP, RFC 6238) in the form that every app supports: SHA-1, 6 digits,
/// steps of 30 s.
import OpenSSL
public import Primitives

public enum TimeCode {
  /// Bytes of a secret (RFC 4226 §4, R6: 160 bits are recommended).
  public static let secretBytes = 20
  public static let digits = 6
  private static let stepSeconds: Int64 = 30
  /// Steps before and after the current one whose codes are valid (RFC 6238 §5.2).
  private static let tolerance: Int64 = 1

  /// The step of a point in time.
  public static func step(at now: WallTime) -> Int64 {
    now.microseconds / (stepSeconds * 1_000_000)
  }

  /// The code of a step (RFC 4226 §5.3).
  public static func code(_ secret: [UInt8], step: Int64) -> String {
    let counter = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * $0)) }
    let hash = HMACSHA1.code(for: counter, key: secret)
    let offset = Int(hash[hash.count - 1] & 0xF)
    let number = hash[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } & 0x7FFF_FFFF
    let text = String(number % 1_000_000)
    return String(repeating: "0", count: digits - text.count) + text
  }

  /// The step of which this is the code; nil if it is none of the valid ones. All are compared, in
  /// constant time.
  public static func step(of code: String, secret: [UInt8], at now: WallTime) -> Int64? {
    let current = step(at: now)
    var found: Int64?
    for step in current - tolerance...current + tolerance
    where constantTimeEquals(Array(self.code(secret, step: step).utf8), Array(code.utf8)) {
      found = step
    }
    return found
  }
}

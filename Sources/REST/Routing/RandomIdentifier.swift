/// Ids of new rows, and points in time relative to now.
import OpenSSL
import Primitives

extension Identifier {
  /// A new id of version 7 (RFC 9562 §5.7): ids of the same time are close together in indexes.
  static func random(at now: WallTime) -> Identifier {
    Identifier(
      version7At: now, randomHigh: UInt16(truncatingIfNeeded: SecureRandom.word()),
      randomLow: SecureRandom.word())
  }
}

extension WallTime {
  func advanced(bySeconds seconds: Int64) -> WallTime {
    WallTime(microseconds: microseconds + seconds * 1_000_000)
  }
}

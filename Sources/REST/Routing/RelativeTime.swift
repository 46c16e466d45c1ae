/// Points in time relative to now.
import Primitives

extension WallTime {
  func advanced(bySeconds seconds: Int64) -> WallTime {
    WallTime(microseconds: microseconds + seconds * 1_000_000)
  }
}

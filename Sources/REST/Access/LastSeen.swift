/// Limits how often the time of a login's last request is stored: once a minute for each login.
import Primitives
import Synchronization

final class LastSeen: Sendable {
  private let table = Mutex(RateTable<[UInt8]>(burst: 1, perMinute: 1))

  /// - Parameter login: the hash of the login's cookie.
  func isDue(_ login: [UInt8], _ now: WallTime) -> Bool {
    table.withLock { $0.take(login, atMilliseconds: now.microseconds / 1000) } == 0
  }
}

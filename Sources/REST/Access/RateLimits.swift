/// How often one address or account may ask.
import Primitives
import Synchronization

extension API {
  func takeRate(
    _ table: borrowing Mutex<RateTable<String>>, _ key: String, _ now: WallTime
  ) throws(Problem) {
    let seconds = table.withLock {
      $0.take(key, atMilliseconds: now.microseconds / 1000)
    }
    if seconds > 0 { throw .rateLimited(afterSeconds: seconds) }
  }
}

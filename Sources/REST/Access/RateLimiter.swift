/// Limits how often one address or account may send a request.
import Primitives
import Synchronization

struct RateLimiter: ~Copyable, Sendable {
  private let table: Mutex<RateTable<String>>
  /// The name of the limit in responses.
  private let limit: String

  init(_ rate: APIOptions.Rate, limit: String) {
    self.limit = limit
    table = Mutex(RateTable(burst: rate.burst, perMinute: rate.perMinute))
  }

  func use(_ rate: APIOptions.Rate) {
    table.withLock { $0.change(burst: rate.burst, perMinute: rate.perMinute) }
  }

  /// Counts one request under the key; throws 429 if it exceeds the limit.
  func take(_ key: String, _ now: WallTime) throws(Problem) {
    let seconds = table.withLock { $0.take(key, atMilliseconds: now.microseconds / 1000) }
    if seconds > 0 { throw .rateLimited(afterSeconds: seconds, limit: limit) }
  }

  /// Uncounts a request that `take` has counted.
  func giveBack(_ key: String) { table.withLock { $0.giveBack(key) } }
}

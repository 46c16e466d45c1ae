import Chat
import Engine

/// REST requests that wait for the outcomes of their messages, by number.
struct PendingAppends {
  private var waiting: [UInt32: CheckedContinuation<OutcomeMail, Never>] = [:]
  private var last: UInt32 = 0

  mutating func add(_ continuation: CheckedContinuation<OutcomeMail, Never>) -> UInt32 {
    last &+= 1
    waiting[last] = continuation
    return last
  }

  mutating func finish(_ number: UInt32, _ outcome: OutcomeMail) {
    waiting.removeValue(forKey: number)?.resume(returning: outcome)
  }

  /// The loop ends: all waiting requests get the outcome “unavailable”.
  mutating func end() {
    for continuation in waiting.values { continuation.resume(returning: .unavailable) }
    waiting = [:]
  }
}

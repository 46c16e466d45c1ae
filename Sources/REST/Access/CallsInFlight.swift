/// The calls that have begun and not ended. A request that revokes somebody's access waits for the
/// calls of that person; later calls see the change when they look up the caller.
import Kernel
import Primitives
import Synchronization

final class CallsInFlight: Sendable {
  /// A request that waits for the calls of some people.
  private struct Waiter {
    var ids: Set<Identifier>
    var calls: Set<UInt64>
    var countdown: Countdown
  }

  private struct Calls {
    /// The caller of each call; nil until the caller is identified.
    var callers: [UInt64: Identifier?] = [:]
    var lastNumber: UInt64 = 0
    var waiters: [Waiter] = []
  }

  private let calls = Mutex(Calls())

  /// Must precede the lookup of the caller, so that a call that was admitted before a change is
  /// known when the change waits.
  func begin() -> UInt64 {
    calls.withLock { calls in
      calls.lastNumber += 1
      calls.callers[calls.lastNumber] = .some(nil)
      return calls.lastNumber
    }
  }

  func identify(_ call: UInt64, as id: Identifier) {
    settle(call) { calls in
      calls.callers[call] = .some(id)
      return { !$0.contains(id) }
    }
  }

  /// May be called more than once.
  func end(_ call: UInt64) {
    settle(call) { calls in
      calls.callers[call] = nil
      return { _ in true }
    }
  }

  /// Applies a change, and removes the call from the waiters that need not wait for it.
  private func settle(
    _ call: UInt64, _ change: (inout Calls) -> (Set<Identifier>) -> Bool
  ) {
    let finished = calls.withLock { calls -> [Countdown] in
      let isIrrelevant = change(&calls)
      guard !calls.waiters.isEmpty else { return [] }
      for index in calls.waiters.indices where isIrrelevant(calls.waiters[index].ids) {
        calls.waiters[index].calls.remove(call)
      }
      let finished = calls.waiters.filter { $0.calls.isEmpty || $0.countdown.isOver }
      if !finished.isEmpty {
        calls.waiters.removeAll { $0.calls.isEmpty || $0.countdown.isOver }
      }
      return finished.map(\.countdown)
    }
    for countdown in finished { countdown.confirm() }
  }

  /// Is confirmed when the current calls of these people have ended.
  func end(of ids: Set<Identifier>) -> Countdown {
    calls.withLock { calls in
      let relevant = calls.callers.filter { $0.value.map { ids.contains($0) } ?? true }
      guard !relevant.isEmpty else { return Countdown(0) }
      let countdown = Countdown(1)
      calls.waiters.append(
        Waiter(ids: ids, calls: Set(relevant.keys), countdown: countdown))
      return countdown
    }
  }
}

/// Calls of the REST API that were admitted and have not ended. Before a request that shuts
/// somebody out is answered, those of that person have ended: what comes later is refused by its
/// own look at the database.
import Kernel
import Primitives
import Synchronization

final class CallsUnderWay: Sendable {
  private struct Wait {
    var ids: Set<Identifier>
    var calls: Set<UInt64>
    var countdown: Countdown
  }
  private struct State {
    /// Nil until it is known who calls.
    var calls: [UInt64: Identifier?] = [:]
    var last: UInt64 = 0
    var waits: [Wait] = []
  }

  private let state = Mutex(State())

  /// Before the caller is looked up: a call that was let in by what has changed since is known.
  func begin() -> UInt64 {
    state.withLock { state in
      state.last += 1
      state.calls[state.last] = .some(nil)
      return state.last
    }
  }

  func identify(_ call: UInt64, as id: Identifier) {
    settle(call) { state in
      state.calls[call] = .some(id)
      return { !$0.contains(id) }
    }
  }

  /// May be called again.
  func end(_ call: UInt64) {
    settle(call) { state in
      state.calls[call] = nil
      return { _ in true }
    }
  }

  /// Takes the call out of the waits for which it does not count any more.
  private func settle(
    _ call: UInt64, _ change: (inout State) -> (Set<Identifier>) -> Bool
  ) {
    let over = state.withLock { state -> [Countdown] in
      let isOut = change(&state)
      guard !state.waits.isEmpty else { return [] }
      for index in state.waits.indices where isOut(state.waits[index].ids) {
        state.waits[index].calls.remove(call)
      }
      let over = state.waits.filter { $0.calls.isEmpty || $0.countdown.isOver }
      if !over.isEmpty { state.waits.removeAll { $0.calls.isEmpty || $0.countdown.isOver } }
      return over.map(\.countdown)
    }
    for countdown in over { countdown.confirm() }
  }

  /// Is confirmed when the calls of these people that are under way now have ended.
  func end(of ids: Set<Identifier>) -> Countdown {
    state.withLock { state in
      let calls = state.calls.filter { $0.value.map { ids.contains($0) } ?? true }
      guard !calls.isEmpty else { return Countdown(0) }
      let countdown = Countdown(1)
      state.waits.append(Wait(ids: ids, calls: Set(calls.keys), countdown: countdown))
      return countdown
    }
  }
}

import Synchronization

/// Waits for a number of confirmations from any threads; the waiting task may give up.
public final class Countdown: Sendable {
  private struct State {
    var left: Int
    var outcome: Bool?
    var waiter: CheckedContinuation<Bool, Never>?
  }

  private let state: Mutex<State>

  public init(_ count: Int) {
    state = Mutex(State(left: count, outcome: count == 0 ? true : nil))
  }

  /// All have confirmed, or the wait was given up.
  public var isOver: Bool { state.withLock { $0.outcome != nil } }

  public func confirm() {
    end { state in
      state.left -= 1
      return state.left == 0 ? true : nil
    }
  }

  public func giveUp() { end { _ in false } }

  private func end(_ decide: (inout State) -> Bool?) {
    let ended = state.withLock { state -> (CheckedContinuation<Bool, Never>, Bool)? in
      guard state.outcome == nil, let outcome = decide(&state) else { return nil }
      state.outcome = outcome
      defer { state.waiter = nil }
      return state.waiter.map { ($0, outcome) }
    }
    if let ended { ended.0.resume(returning: ended.1) }
  }

  /// Waits; returns whether all have confirmed. Only one task may wait.
  public var isConfirmed: Bool {
    get async {
      await withCheckedContinuation { continuation in
        let outcome = state.withLock { state in
          if state.outcome == nil { state.waiter = continuation }
          return state.outcome
        }
        if let outcome { continuation.resume(returning: outcome) }
      }
    }
  }
}

import Synchronization

/// The client of a response with a stream (`APIResponse.stream`), as its handler sees it.
final class StreamReader: Sendable {
  private let hasLeft = Atomic(false)

  /// The connection has ended; the loop calls it when bytes come for it.
  func leave() { hasLeft.store(true, ordering: .relaxed) }

  var isThere: Bool { !hasLeft.load(ordering: .relaxed) }
}

/// The client of a body that is sent piece by piece (`APIResponse.pieces`). The loop wants the next
/// piece when the client has taken most of the previous ones, so a slow client costs little memory
/// and nothing waits in a thread.
final class PieceReader: Sendable {
  private struct State {
    var isWanted = false
    var hasLeft = false
    var waiting: CheckedContinuation<Bool, Never>?
  }

  private let state = Mutex(State())

  /// Waits until the loop wants the next piece; false: the client has left.
  func isWanted() async -> Bool {
    await withCheckedContinuation { continuation in
      let answer = state.withLock { state -> Bool? in
        if state.hasLeft { return false }
        guard state.isWanted else {
          state.waiting = continuation
          return nil
        }
        state.isWanted = false
        return true
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  func want() {
    let waiting = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard let waiting = state.waiting.take() else {
        state.isWanted = true
        return nil
      }
      return waiting
    }
    waiting?.resume(returning: true)
  }

  func leave() {
    let waiting = state.withLock { state in
      state.hasLeft = true
      return state.waiting.take()
    }
    waiting?.resume(returning: false)
  }
}

/// Holds the reader for the time of its connection: the client leaves when nobody holds this.
final class PieceHold: Sendable {
  let reader: PieceReader

  init(_ reader: PieceReader) { self.reader = reader }

  deinit { reader.leave() }
}

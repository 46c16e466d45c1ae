/// The loops' threads and results.
import Kernel
import Primitives
import Synchronization

/// A reference to a thread, which is not copyable and cannot be an array's element.
final class ThreadBox {
  private var thread: Kernel.Thread?

  init(_ thread: consuming Kernel.Thread) { self.thread = consume thread }

  func join() { thread.take()?.join() }
}

/// A loop ended with an error.
struct LoopFailure: Error, CustomStringConvertible {
  var description: String
}

/// The results of the loops, by index.
final class LoopResults: Sendable {
  private let results: Mutex<[Result<LoopResult, LoopFailure>?]>

  init(_ count: Int) { results = Mutex(Array(repeating: nil, count: count)) }

  func set(_ index: Int, _ result: LoopResult) {
    results.withLock { $0[index] = .success(result) }
  }

  func fail(_ index: Int, _ reason: String) {
    results.withLock { $0[index] = .failure(LoopFailure(description: reason)) }
  }

  var isComplete: Bool { results.withLock { $0.allSatisfy { $0 != nil } } }

  func take() throws -> [LoopResult] {
    try results.withLock { all in try all.compactMap { try $0?.get() } }
  }
}

/// Threads in an array, and what they leave behind.
import Kernel
import Primitives
import Synchronization

/// An array cannot hold a thread, which has one owner.
final class ThreadBox {
  private var thread: Kernel.Thread?

  init(_ thread: consuming Kernel.Thread) { self.thread = consume thread }

  func join() { thread.take()?.join() }
}

/// A loop could not go on.
struct LoopFailure: Error, CustomStringConvertible {
  var description: String
}

/// What the loops leave behind.
final class Outcomes: Sendable {
  private let results: Mutex<[Result<LoopResult, LoopFailure>?]>

  init(_ count: Int) { results = Mutex(Array(repeating: nil, count: count)) }

  func set(_ index: Int, _ result: LoopResult) {
    results.withLock { $0[index] = .success(result) }
  }

  func fail(_ index: Int, _ why: String) {
    results.withLock { $0[index] = .failure(LoopFailure(description: why)) }
  }

  var isComplete: Bool { results.withLock { $0.allSatisfy { $0 != nil } } }

  func take() throws -> [LoopResult] {
    try results.withLock { all in try all.compactMap { try $0?.get() } }
  }
}

import Synchronization

/// The client of a response with a stream (`APIResponse.stream`), as its handler sees it.
final class StreamReader: Sendable {
  private let hasLeft = Atomic(false)

  /// The connection has ended; the loop calls it when bytes come for it.
  func leave() { hasLeft.store(true, ordering: .relaxed) }

  var isThere: Bool { !hasLeft.load(ordering: .relaxed) }
}

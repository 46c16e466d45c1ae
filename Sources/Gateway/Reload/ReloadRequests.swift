/// The way of `chirrup reload` from the loop that serves it to the thread that handles signals,
/// which is the only one that changes settings.
import Kernel
import REST
import Synchronization

final class ReloadRequests: Reloader {
  struct Request {
    var isCheck: Bool
    var continuation: CheckedContinuation<ReloadReport?, Never>
  }

  private struct Waiting {
    var requests: [Request] = []
    var isOpen = true
  }

  /// Requests that wait at once.
  static let waitingMax = 8

  private let waiting = Mutex(Waiting())
  private let counter: EventCounter

  init() throws(Errno) { counter = try EventCounter() }

  /// For epoll.
  var rawDescriptor: Int32 { counter.rawValue }

  func reload(isCheck: Bool) async -> ReloadReport? {
    await withCheckedContinuation { continuation in
      let isTaken = waiting.withLock { waiting in
        guard waiting.isOpen, waiting.requests.count < ReloadRequests.waitingMax else {
          return false
        }
        waiting.requests.append(Request(isCheck: isCheck, continuation: continuation))
        return true
      }
      if isTaken { counter.signal() } else { continuation.resume(returning: nil) }
    }
  }

  func take() -> [Request] {
    counter.drain()
    return waiting.withLock { waiting in
      defer { waiting.requests = [] }
      return waiting.requests
    }
  }

  /// The gateway stops: waiting and later requests get nil.
  func close() {
    waiting.withLock { $0.isOpen = false }
    for request in take() { request.continuation.resume(returning: nil) }
  }
}

import Kernel
import Primitives
import Synchronization

/// Brings the pieces of an answer from the thread that reads them to the request of the operator.
///
/// Bound: the text of an answer has at most `CompletionReader.textBytesMax` bytes, and pieces that
/// wait become one.
public final class AssistFeed: Sendable {
  public enum Event: Equatable, Sendable {
    case text(String)
    /// Nothing came for a second: a sign of life for the connection.
    case idle
    case ended(CompletionResult)
  }

  static let idleMilliseconds: Int64 = 1_000

  private struct State {
    var text = ""
    var result: CompletionResult?
    var isCancelled = false
    var lastEvent: Instant
    var reader: CheckedContinuation<Event, Never>?

    /// Nil: there is none yet.
    mutating func take(now: Instant) -> Event? {
      let event: Event
      if !text.isEmpty {
        event = .text(text)
        text = ""
      } else if let result {
        event = .ended(result)
      } else if now.milliseconds(since: lastEvent) >= AssistFeed.idleMilliseconds {
        event = .idle
      } else {
        return nil
      }
      lastEvent = now
      return event
    }
  }

  private let state: Mutex<State>

  public convenience init() { self.init(now: SystemClock.now()) }

  init(now: Instant) { state = Mutex(State(lastEvent: now)) }

  public var isCancelled: Bool { state.withLock(\.isCancelled) }

  /// The reader has left: the run ends soon.
  public func cancel() { state.withLock { $0.isCancelled = true } }

  /// The next event. One reader at a time; after `ended` there is no further one.
  public func next() async -> Event {
    await withCheckedContinuation { continuation in
      let event: Event? = state.withLock { state in
        if let event = state.take(now: SystemClock.now()) { return event }
        state.reader = continuation
        return nil
      }
      if let event { continuation.resume(returning: event) }
    }
  }

  func add(_ text: String) { change { $0.text += text } }

  public func end(_ result: CompletionResult) { change { $0.result = result } }

  /// Lets the reader have a sign of life if one is due.
  func tick(now: Instant = SystemClock.now()) { change(now: now) { _ in } }

  private func change(now: Instant = SystemClock.now(), _ body: (inout State) -> Void) {
    let (reader, event): (CheckedContinuation<Event, Never>?, Event?) = state.withLock { state in
      body(&state)
      guard let reader = state.reader, let event = state.take(now: now) else { return (nil, nil) }
      state.reader = nil
      return (reader, event)
    }
    if let reader, let event { reader.resume(returning: event) }
  }
}

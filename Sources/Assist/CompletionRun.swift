import HTTPClient
import Primitives
import Synchronization

/// The end of a run.
public struct CompletionResult: Equatable, Sendable {
  /// Nil: the endpoint has not counted.
  public var usage: TokenUsage?
  /// Bytes of the text that came.
  public var textByteCount: Int
  /// Nil: the answer is complete, or its reader has left.
  public var fault: CompletionFault?
  /// The reader has left.
  public var wasStopped = false
  /// Whether the endpoint may have begun to work on the prompt.
  public var wasSent: Bool
}

/// The answer of one request while libcurl reads it.
final class CompletionRun: Sendable {
  private struct State {
    var reader = CompletionReader()
    var hasBegun = false
  }

  private let feed: AssistFeed
  private let state = Mutex(State())

  init(_ feed: AssistFeed) { self.feed = feed }

  var hasBegun: Bool { state.withLock(\.hasBegun) }

  /// Whether to read on.
  func take(_ bytes: [UInt8], status: Int) -> Bool {
    let (text, goesOn) = state.withLock { state in
      state.hasBegun = true
      let text = state.reader.push(bytes, status: status)
      return (text, state.reader.fault == nil && !state.reader.isDone)
    }
    if !text.isEmpty { feed.add(text) }
    return goesOn && !feed.isCancelled
  }

  func result(fault: CompletionFault) -> CompletionResult {
    CompletionResult(usage: nil, textByteCount: 0, fault: fault, wasSent: false)
  }

  /// - Parameter outcome: nil: the run was given up.
  func result(_ outcome: HTTPOutcome?) -> CompletionResult {
    let isCancelled = feed.isCancelled
    return state.withLock { state in
      var wasSent = true
      var fault = state.reader.fault
      switch outcome {
      case nil: fault = .noAnswerInTime
      case .answered(let status, _, let retryAfter):
        state.reader.end(status: status, retryAfterSeconds: retryAfter)
        fault = state.reader.fault
        wasSent = status == 200 || status >= 500
      case .refused:
        fault = .addressRefused
        wasSent = false
      case .failed(let reason):
        // A connection that breaks after the end is no fault.
        if state.reader.isDone || fault != nil { break }
        // By libcurl's clock: its timers may end before the same time of another clock.
        if reason == HTTPClient.timeIsUp {
          fault = state.hasBegun ? .tookTooLong : .noAnswerInTime
        } else {
          fault = state.hasBegun ? .cutOff : .unreachable(reason)
          wasSent = state.hasBegun
        }
      }
      return CompletionResult(
        usage: state.reader.usage, textByteCount: state.reader.textByteCount,
        fault: isCancelled ? nil : fault, wasStopped: isCancelled, wasSent: wasSent)
    }
  }
}

extension CompletionResult {
  /// A request that got no thread.
  public static let notSent = CompletionResult(
    usage: nil, textByteCount: 0, fault: .noAnswerInTime, wasSent: false)
}

/// A live trace: what a connection, or all connections of a visitor or operator, send and receive,
/// without bodies and tokens. Loops add lines, one reader takes them by position.
///
/// It ends with its connection, after `millisecondsMax`, or when nobody reads it any more. A line
/// that finds `linesMax` unread ones replaces the oldest of them, which is counted.
public import Primitives
import Synchronization

public final class ConnectionTrace: Sendable {
  public static let linesMax = 1_000
  public static let millisecondsMax: Int64 = 600_000
  public static let unreadMillisecondsMax: Int64 = 30_000
  /// Lines of one answer.
  static let partMax = 200
  /// A reader waits this long for a line.
  static let waitMilliseconds: Int64 = 1_000

  /// What a reader gets.
  struct Part: Sendable {
    /// The number of the first line.
    var first: Int64
    var lines: [TraceLine]
    var dropped: Int64
    /// Why the trace has ended. Nil: it runs, or has unread lines.
    var end: String?

    /// The position of the next reading.
    var next: Int64 { first + Int64(lines.count) - 1 }
  }

  private struct Reader {
    var continuation: CheckedContinuation<Part, Never>
    var due: Instant
  }

  private struct State {
    /// The line with number n is at (n - 1) % linesMax.
    var ring: [TraceLine] = []
    /// The number of the oldest line that was not read.
    var first: Int64 = 1
    var next: Int64 = 1
    var dropped: Int64 = 0
    var readAt: Instant
    var end: (reason: String, at: Instant)?
    var reader: Reader?
  }

  public let id: Identifier
  /// The id of a connection, a visitor or an operator.
  public let target: Identifier
  /// Nil for the operator of the instance.
  public let workspace: Identifier?
  private let endsAt: Instant
  private let state: Mutex<State>

  public init(of target: Identifier, in workspace: Identifier?, id: Identifier, now: Instant) {
    self.id = id
    self.target = target
    self.workspace = workspace
    endsAt = now.advanced(byMilliseconds: ConnectionTrace.millisecondsMax)
    state = Mutex(State(readAt: now))
  }

  /// When it has ended; nil: it runs.
  public var endedAt: Instant? { state.withLock { $0.end?.at } }

  // MARK: The loops

  public func add(_ line: TraceLine) {
    change { state in
      guard state.end == nil else { return false }
      let place = Int((state.next - 1) % Int64(ConnectionTrace.linesMax))
      if place == state.ring.count { state.ring.append(line) } else { state.ring[place] = line }
      state.next += 1
      if state.next - state.first > Int64(ConnectionTrace.linesMax) {
        state.first += 1
        state.dropped += 1
      }
      return true
    }
  }

  public func end(_ reason: String, now: Instant) {
    change { state in
      if state.end == nil { state.end = (reason, now) }
      return true
    }
  }

  /// With each sweep: ends the trace after its time, and answers a reader that has waited long.
  public func expire(now: Instant) {
    change { state in
      if let reader = state.reader {
        if now >= endsAt { state.end = state.end ?? (ConnectionTrace.timeIsOver, now) }
        return state.end != nil || now >= reader.due
      }
      let isUnread =
        now.milliseconds(since: state.readAt) >= ConnectionTrace.unreadMillisecondsMax
      if isUnread || now >= endsAt {
        state.end =
          state.end ?? (isUnread ? ConnectionTrace.unread : ConnectionTrace.timeIsOver, now)
      }
      return false
    }
  }

  private static let timeIsOver = "the time limit of 10 minutes"
  private static let unread = "nobody has read it for 30 seconds"

  /// Changes the state, and answers the reader if `body` returns true.
  private func change(_ body: (inout State) -> Bool) {
    let answer = state.withLock { state -> (Reader, Part)? in
      guard body(&state), let reader = state.reader else { return nil }
      state.reader = nil
      return (reader, ConnectionTrace.part(state))
    }
    if let (reader, part) = answer { reader.continuation.resume(returning: part) }
  }

  // MARK: The reader

  /// The lines after a position, which are forgotten up to it. Waits for one if there are none. A
  /// second reader takes the place of the first, which gets an empty answer.
  func lines(after position: Int64, now: Instant) async -> Part {
    await withCheckedContinuation { continuation in
      let (previous, part) = state.withLock { state in
        state.readAt = now
        state.first = min(max(state.first, position + 1), state.next)
        let previous = state.reader
        state.reader = nil
        if state.first < state.next || state.end != nil {
          return (previous, Part?.some(ConnectionTrace.part(state)))
        }
        state.reader = Reader(
          continuation: continuation,
          due: now.advanced(byMilliseconds: ConnectionTrace.waitMilliseconds))
        return (previous, nil)
      }
      previous?.continuation.resume(
        returning: Part(first: position + 1, lines: [], dropped: 0, end: nil))
      if let part { continuation.resume(returning: part) }
    }
  }

  private static func part(_ state: State) -> Part {
    let end = min(state.next, state.first + Int64(partMax))
    let lines = (state.first..<end).map { state.ring[Int(($0 - 1) % Int64(linesMax))] }
    return Part(
      first: state.first, lines: lines, dropped: state.dropped,
      end: end == state.next ? state.end?.reason : nil)
  }
}

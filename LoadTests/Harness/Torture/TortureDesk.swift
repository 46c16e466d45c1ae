/// What the conductor (who breaks things) and the loop of clients have in common: one question at a
/// time, its answer, and a few numbers.
import Primitives
import Synchronization

enum TortureRequest: Sendable, Equatable {
  /// Everybody connected and subscribed; then the load begins.
  case settle
  /// Everything that was made or known at this moment is acknowledged and shown; then the table is
  /// compared, from the start if `isFull`.
  case recover(isFull: Bool, tamper: Tamper?)
  /// No more messages; everybody back and at the head; the last comparison.
  case finish
  /// Who is not where the condition wants them: an answer at once, and the end.
  case giveUp
  case end
}

/// What is done to the run to prove that its checker sees it.
enum Tamper: String, CaseIterable, Sendable, Codable {
  case deleteRow = "delete-row"
  case changeRow = "change-row"
  case exchangeRows = "exchange-rows"
  case doubleDelivery = "double-delivery"
  case dropDelivery = "drop-delivery"
  case falseAck = "false-ack"
}

struct TortureAnswer: Sendable {
  var request: TortureRequest
  var counters = Counters()
  var violations = Violations()
  var latencies = Latencies()
  /// What is wrong without being a broken promise: refusals, resyncs, clients that stopped.
  var problems: [String] = []
  var rowsCompared = 0
  /// Rows that agree with everything that was heard, each counted once.
  var rowsStored = 0
}

final class TortureDesk: Sendable {
  private struct State {
    var request: TortureRequest?
    var answer: TortureAnswer?
    var failure: String?
  }

  private let state = Mutex(State())

  func ask(_ request: TortureRequest) {
    state.withLock {
      $0.request = request
      $0.answer = nil
    }
  }

  /// The question that waits, for the loop.
  var request: TortureRequest? { state.withLock { $0.request } }

  /// A question that was replaced meanwhile gets no answer.
  func reply(_ answer: TortureAnswer) {
    state.withLock {
      guard $0.request == answer.request else { return }
      $0.request = nil
      $0.answer = answer
    }
  }

  func takeAnswer() -> TortureAnswer? {
    state.withLock { all in
      defer { all.answer = nil }
      return all.answer
    }
  }

  /// The loop has ended by an error of its own.
  func fail(_ text: String) { state.withLock { $0.failure = text } }

  var failure: String? { state.withLock { $0.failure } }
}

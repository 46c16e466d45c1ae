/// State shared by the conductor, which injects faults, and the loop of clients: one request at a
/// time, its answer, and counters.
import Primitives
import Synchronization

enum TortureRequest: Sendable, Equatable {
  /// All clients are connected and subscribed; then the load begins.
  case settle
  /// All messages known at this moment are acknowledged and delivered; then the table is compared,
  /// from the start if `isFull`.
  case recover(isFull: Bool, tamper: Tamper?)
  /// No new messages; all clients are at the end of the log; the final comparison.
  case finish
  /// Answers at once with the clients that do not meet the condition, and ends.
  case giveUp
  case end
}

/// A falsification that the verifier must detect.
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
  /// Problems that are no broken promises: refusals, resyncs, clients that stopped.
  var problems: [String] = []
  var rowsCompared = 0
  /// Rows that agree with all reports, each counted once.
  var rowsStored = 0
}

final class TortureControl: Sendable {
  private struct State {
    var request: TortureRequest?
    var answer: TortureAnswer?
    var failure: String?
  }

  private let state = Mutex(State())

  func send(_ request: TortureRequest) {
    state.withLock {
      $0.request = request
      $0.answer = nil
    }
  }

  /// The pending request, for the loop.
  var request: TortureRequest? { state.withLock { $0.request } }

  /// Answers the request. The answer to a replaced request is dropped.
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

  /// The loop ended with an error.
  func fail(_ text: String) { state.withLock { $0.failure = text } }

  var failure: String? { state.withLock { $0.failure } }
}

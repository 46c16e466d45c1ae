import Chat
import Engine
import Primitives
import Synchronization

/// Where every loop posts its figures, a few times a second, so that one loop can answer for all.
final class Board: Sendable {
  struct Figures: Sendable {
    var isStoreReady = false
    var storeProblem: String?
    var isDraining = false
    var hasEnded = false
    var links = 0
    var connections = 0
    var sessions = 0
    var iterations: UInt64 = 0
    var accepted: UInt64 = 0
    var refusedConnections: UInt64 = 0
    var httpRequests: UInt64 = 0
    var bytesReceived: UInt64 = 0
    var bytesSent: UInt64 = 0
    var closed: [UInt16: UInt64] = [:]
    var queuedRecords = 0
    var engine = Counters()
  }

  private let figures: Mutex<[Figures]>

  init(loopCount: Int) { figures = Mutex(Array(repeating: Figures(), count: loopCount)) }

  func post(_ new: Figures, loop: Int) { figures.withLock { $0[loop] = new } }

  func read() -> [Figures] { figures.withLock { $0 } }

  /// Every loop has ended.
  var hasEnded: Bool { read().allSatisfy { $0.hasEnded } }

  /// `/readyz`: whether this gateway may take traffic, and if not, why.
  func readiness() -> (isReady: Bool, json: String) {
    let all = read()
    if all.contains(where: { $0.isDraining }) {
      return (false, #"{"ready":false,"reason":"draining"}"#)
    }
    guard all.allSatisfy({ $0.isStoreReady }) else {
      return (false, #"{"ready":false,"reason":"PostgreSQL does not answer"}"#)
    }
    return (true, #"{"ready":true}"#)
  }
}

/// The Prometheus text format, version 0.0.4.
enum Metrics {
  static func text(_ all: [Board.Figures]) -> String {
    var text = ""
    func family(_ name: String, _ type: String, _ help: String, _ lines: [(String, UInt64)]) {
      text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
      for (labels, value) in lines { text += "\(name)\(labels) \(value)\n" }
    }
    func perLoop(
      _ name: String, _ type: String, _ help: String, _ value: (Board.Figures) -> UInt64
    ) {
      family(
        name, type, help,
        all.enumerated().map { (#"{loop="\#($0.offset)"}"#, value($0.element)) })
    }
    perLoop("chirrup_up", "gauge", "1 while PostgreSQL answers this loop.") {
      $0.isStoreReady ? 1 : 0
    }
    perLoop("chirrup_sockets", "gauge", "Open sockets, HTTP and WebSocket.") { UInt64($0.links) }
    perLoop("chirrup_connections", "gauge", "Open WebSocket connections.") {
      UInt64($0.connections)
    }
    perLoop("chirrup_sessions_warm", "gauge", "Sessions held in memory.") { UInt64($0.sessions) }
    perLoop("chirrup_queued_records", "gauge", "Records that wait for PostgreSQL.") {
      UInt64($0.queuedRecords)
    }
    perLoop("chirrup_loop_iterations_total", "counter", "Turns of the event loop.") {
      $0.iterations
    }
    perLoop("chirrup_accepted_total", "counter", "Accepted sockets.") { $0.accepted }
    perLoop("chirrup_admission_refused_total", "counter", "Sockets refused for a limit.") {
      $0.refusedConnections
    }
    perLoop("chirrup_http_requests_total", "counter", "HTTP requests.") { $0.httpRequests }
    perLoop("chirrup_received_bytes_total", "counter", "Bytes received.") { $0.bytesReceived }
    perLoop("chirrup_sent_bytes_total", "counter", "Bytes sent.") { $0.bytesSent }
    perLoop("chirrup_frames_received_total", "counter", "WebSocket frames received.") {
      $0.engine.framesReceived
    }
    perLoop("chirrup_commands_total", "counter", "Commands received.") {
      $0.engine.commandsReceived
    }
    perLoop("chirrup_sends_total", "counter", "Messages taken for the store.") {
      $0.engine.sendsAccepted
    }
    perLoop("chirrup_committed_total", "counter", "Messages committed.") { $0.engine.committed }
    perLoop("chirrup_duplicates_total", "counter", "Messages that were stored before.") {
      $0.engine.duplicates
    }
    perLoop("chirrup_delivered_total", "counter", "Messages handed to subscribers.") {
      $0.engine.delivered
    }
    perLoop("chirrup_batches_total", "counter", "Transactions submitted.") { $0.engine.batches }
    perLoop("chirrup_protocol_faults_total", "counter", "Connections failed by a bad frame.") {
      $0.engine.protocolFaults
    }
    perLoop("chirrup_slow_consumers_total", "counter", "Connections closed with 4101.") {
      $0.engine.slowConsumers
    }
    family(
      "chirrup_refused_total", "counter", "Commands answered by an error.",
      Refusal.allCases.map { refusal in
        (
          #"{code="\#(refusal.code)"}"#,
          all.reduce(0) { $0 + $1.engine.refused[Int(refusal.rawValue)] }
        )
      })
    var closes: [UInt16: UInt64] = [:]
    for figures in all { closes.merge(figures.closed) { $0 + $1 } }
    family(
      "chirrup_closed_total", "counter", "WebSocket connections by close code.",
      closes.sorted { $0.key < $1.key }.map { (#"{code="\#($0.key)"}"#, $0.value) })
    return text
  }
}

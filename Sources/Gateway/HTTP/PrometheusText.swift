import Chat
import Engine
import Journal
import Primitives
import REST
import WebPush
import Webhooks

/// `/metrics` in the Prometheus text format, version 0.0.4. Names and units follow Prometheus'
/// recommendations, and `promtool check metrics` accepts the text (Tests/EndToEnd/metrics.sh).
/// config/METRICS.md lists every family; a test compares it with this text.
///
/// The figures of `PrometheusText+Durations.swift` are those of all loops together; the others have
/// the label `loop` if each loop has its own.
struct PrometheusText {
  let snapshot: MetricsSnapshot
  var text = ""

  var loops: [LoopMetrics] { snapshot.loops }

  static func text(_ snapshot: MetricsSnapshot) -> String {
    var metrics = PrometheusText(snapshot: snapshot)
    metrics.build()
    metrics.process()
    metrics.gauges()
    metrics.stalls()
    metrics.traffic()
    metrics.messages()
    metrics.batches()
    metrics.durations()
    metrics.readers()
    metrics.outcomes()
    metrics.backlog()
    metrics.upkeep()
    metrics.deliveries(snapshot.webhooks)
    metrics.push(snapshot.push)
    metrics.mail(snapshot.mail)
    metrics.replies(snapshot.replies)
    metrics.channels(snapshot.api.channels, snapshot.channels)
    metrics.contents(snapshot.contents)
    metrics.requests(snapshot.api)
    metrics.assist(snapshot.api.assist)
    metrics.attachments(snapshot.attachments)
    return metrics.text
  }

  private init(snapshot: MetricsSnapshot) { self.snapshot = snapshot }

  mutating func family(
    _ name: String, _ type: String, _ help: String, _ lines: [(labels: String, value: UInt64)]
  ) {
    head("chirrup_" + name, type, help)
    for (labels, value) in lines { text += "chirrup_\(name)\(labels) \(value)\n" }
  }

  mutating func family(
    _ name: String, _ type: String, _ help: String, seconds lines: [(labels: String, value: Int64)]
  ) {
    head("chirrup_" + name, type, help)
    for (labels, nanoseconds) in lines {
      text += "chirrup_\(name)\(labels) \(PrometheusText.seconds(nanoseconds))\n"
    }
  }

  /// The comments that introduce a family.
  mutating func head(_ name: String, _ type: String, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  /// Formats nanoseconds as seconds with 9 decimal places.
  static func seconds(_ nanoseconds: Int64) -> String {
    let fraction = String(nanoseconds % 1_000_000_000)
    let padded = String(repeating: "0", count: 9 - fraction.count) + fraction
    return "\(nanoseconds / 1_000_000_000).\(padded)"
  }

  /// A label's value: backslash, quotation mark and line break are escaped.
  static func labelValue(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }

  private mutating func gauge(_ name: String, _ help: String, _ value: (LoopMetrics) -> Int) {
    family(name, "gauge", help, eachLoop { UInt64(max(0, value($0))) })
  }

  private mutating func counter(
    _ name: String, _ help: String, _ value: (LoopMetrics) -> UInt64
  ) {
    family(name + "_total", "counter", help, eachLoop(value))
  }

  func eachLoop<Value>(
    _ value: (LoopMetrics) -> Value
  ) -> [(labels: String, value: Value)] {
    loops.enumerated().map { (#"{loop="\#($0.offset)"}"#, value($0.element)) }
  }

  private mutating func gauges() {
    gauge("up", "1 if PostgreSQL answers this loop, else 0.") { $0.isStoreReady ? 1 : 0 }
    family(
      "store_connection_up", "gauge",
      "1 if the loop's connection to PostgreSQL for writing or reading works, else 0.",
      loops.enumerated().flatMap { loop, figures in
        [
          (#"{loop="\#(loop)",connection="writer"}"#, figures.isWriterReady ? 1 : 0),
          (#"{loop="\#(loop)",connection="reader"}"#, figures.isReaderReady ? 1 : 0),
        ]
      })
    family(
      "peers", "gauge", "Other gateways that run on this database.",
      [("", UInt64(max(0, snapshot.peers)))])
    gauge("sockets", "Open sockets of clients, HTTP and WebSocket.") { $0.sockets }
    gauge("tls_handshakes_under_way", "TLS handshakes in progress.") { $0.handshakes.underWay }
    gauge("tls_handshakes_waiting", "TLS clients that wait to start their handshake.") {
      $0.handshakes.waiting
    }
    gauge("connections", "Open WebSocket connections.") { $0.connections }
    gauge("sessions_warm", "Sessions held in memory.") { $0.sessions }
    gauge("recent_bytes", "Bytes of recent messages held in memory.") { $0.recentBytes }
    gauge("queued_records", "Messages that wait for PostgreSQL.") { $0.queuedRecords }
    family(
      "queued_oldest_seconds", "gauge", "The age of the oldest message without an outcome.",
      seconds: eachLoop { $0.oldestRecord })
    gauge("queries_pending", "Queries of this loop that PostgreSQL has not answered.") {
      $0.queriesPending
    }
  }

  private mutating func traffic() {
    counter("loop_iterations", "Turns of the event loop.") { $0.iterations }
    counter("accepted", "Accepted sockets.") { $0.accepted }
    counter("tls_handshakes", "TLS handshakes completed.") { $0.handshakes.completed }
    counter("http_requests", "HTTP requests.") { $0.httpRequests }
    counter("received_bytes", "Bytes received.") { $0.bytesReceived }
    counter("sent_bytes", "Bytes sent.") { $0.bytesSent }
    counter("frames_received", "WebSocket frames received.") { $0.engine.framesReceived }
    counter("commands", "Commands received.") { $0.engine.commandsReceived }
  }

  private mutating func messages() {
    counter("sends", "Messages accepted and queued for PostgreSQL.") { $0.engine.sendsAccepted }
    counter("committed", "Messages committed.") { $0.engine.committed }
    counter("duplicates", "Messages that were already stored (repeated sends).") {
      $0.engine.duplicates
    }
    counter("delivered", "Messages delivered to subscribers.") { $0.engine.delivered }
    counter("session_loads", "Sessions read into memory.") { $0.engine.sessionLoads }
    counter("session_evictions", "Sessions evicted from memory.") {
      $0.engine.sessionEvictions
    }
    counter("recent_drops", "Sessions whose recent messages were evicted from memory.") {
      $0.engine.recentDrops
    }
    counter("batches", "Batches sent to PostgreSQL, one transaction each.") { $0.engine.batches }
    counter("fenced_batches", "Batches stored by one statement, with numbers the loop brought.") {
      $0.fences.passed
    }
    counter(
      "fence_refusals", "Such batches that went on under locks: the database had other numbers."
    ) {
      $0.fences.refused
    }
    counter("deflated", "Compressed messages, once for each fan-out.") { $0.engine.deflated }
    counter("quarantined", "Messages that PostgreSQL refused, stored in quarantine.") {
      $0.quarantine.stored
    }
    counter(
      "quarantine_dropped", "Refused messages that were not stored: quarantine full or unavailable."
    ) {
      $0.quarantine.dropped
    }
    counter("slow_consumers", "Connections closed with 4101 because they read too slowly.") {
      $0.engine.slowConsumers
    }
  }

  private mutating func push(_ push: PushMetrics) {
    family(
      "push_delivered_total", "counter", "Push messages that push services accepted.",
      [("", push.delivered)])
    family(
      "push_attempts_failed_total", "counter", "Failed attempts of push messages.",
      [("", push.attemptsFailed)])
    family(
      "push_subscriptions_ended_total", "counter", "Push subscriptions that browsers have ended.",
      [("", push.ended)])
  }

  private mutating func deliveries(_ webhooks: DeliveryMetrics) {
    family(
      "webhooks_pending", "gauge", "Waiting deliveries of all gateways, at most 100000.",
      [("", UInt64(webhooks.pending))])
    family(
      "webhooks_oldest_pending_seconds", "gauge",
      "The age of the oldest waiting delivery of all gateways.",
      [("", UInt64(webhooks.oldestPendingSeconds))])
    family(
      "webhooks_under_way", "gauge", "Webhook requests in progress.",
      [("", UInt64(webhooks.inFlight))])
    family(
      "webhooks_delivered_total", "counter", "Successful deliveries.",
      [("", webhooks.delivered)])
    family(
      "webhooks_attempts_failed_total", "counter", "Failed attempts.",
      [("", webhooks.attemptsFailed)])
    family(
      "webhooks_failed_total", "counter", "Deliveries that failed after the last attempt.",
      [("", webhooks.failed)])
  }

  private mutating func requests(_ api: APIMetrics) {
    family(
      "rest_refused_total", "counter",
      "REST requests answered 429, by the exceeded limit and by who may use the route.",
      api.refused.map { (#"{limit="\#($0.limit)",routes="\#($0.routes)"}"#, $0.count) })
    family(
      "rest_expensive_running", "gauge",
      "REST requests with statements that read much, in progress.",
      [("", UInt64(api.expensiveRunning))])
    family(
      "rest_expensive_waiting", "gauge", "REST requests that wait for their turn to read much.",
      [("", UInt64(api.expensiveWaiting))])
    family(
      "rest_expensive_waited_total", "counter",
      "REST requests that had to wait for their turn to read much.", [("", api.expensiveWaited)])
  }

  private mutating func batches() {
    let lines = loops.enumerated().flatMap { loop, figures in
      let engine = figures.engine
      var upTo: UInt64 = 0
      var lines: [(labels: String, value: UInt64)] = []
      for (power, count) in engine.batchSizes.dropLast().enumerated() {
        upTo += count
        let limit = (2 << power) - 1
        lines.append((#"_bucket{loop="\#(loop)",le="\#(limit)"}"#, upTo))
      }
      lines.append((#"_bucket{loop="\#(loop)",le="+Inf"}"#, engine.batches))
      lines.append((#"_sum{loop="\#(loop)"}"#, engine.batchMessages))
      lines.append((#"_count{loop="\#(loop)"}"#, engine.batches))
      return lines
    }
    family("batch_messages", "histogram", "Messages of one batch.", lines)
  }

  private mutating func outcomes() {
    let refused = Refusal.allCases.map { refusal in
      (
        labels: #"{code="\#(refusal.code)"}"#,
        value: loops.reduce(0) { $0 + $1.engine.refused[Int(refusal.rawValue)] }
      )
    }
    family("refused_total", "counter", "Commands answered with an error, by its code.", refused)
    var faults = FaultCounts()
    for figures in loops {
      faults.merge(figures.faults)
      faults.merge(figures.engine.faults)
    }
    family(
      "faults_total", "counter",
      "Invalid input and exceeded limits, by stage of the connection and reason.",
      faults.counts.sorted {
        ($0.key.stage.rawValue, $0.key.reason) < ($1.key.stage.rawValue, $1.key.reason)
      }
      .map { (#"{stage="\#($0.key.stage.rawValue)",reason="\#($0.key.reason)"}"#, $0.value) })
    var closes: [UInt16: UInt64] = [:]
    for figures in loops { closes.merge(figures.closed) { $0 + $1 } }
    family(
      "closed_total", "counter", "Closed WebSocket connections by close code.",
      closes.sorted { $0.key < $1.key }.map { (#"{code="\#($0.key)"}"#, $0.value) })
  }
}

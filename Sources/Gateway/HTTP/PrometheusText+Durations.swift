import Engine
import Primitives
import REST

/// The histograms of durations.
extension PrometheusText {
  /// The label `le`, in seconds; the last one is that of all durations.
  private static let limits: [String] =
    DurationHistogram.limits.indices.map { index in
      var text = seconds(DurationHistogram.limits[index])
      while text.hasSuffix("0") { text.removeLast() }
      if text.hasSuffix(".") { text.removeLast() }
      return text
    } + ["+Inf"]

  /// - Parameter series: the labels of each series, without braces, and its durations.
  mutating func histogram(
    _ name: String, _ help: String, _ series: [(labels: String, DurationHistogram)]
  ) {
    head("chirrup_" + name, "histogram", help)
    for (labels, durations) in series {
      let bucket = "chirrup_\(name)_bucket{\(labels)\(labels.isEmpty ? "" : ",")le=\""
      let braced = labels.isEmpty ? "" : "{\(labels)}"
      var upTo: UInt64 = 0
      for index in durations.counts.indices {
        upTo += durations.counts[index]
        text += bucket
        text += PrometheusText.limits[index]
        text += "\"} \(upTo)\n"
      }
      text += "chirrup_\(name)_sum\(braced) \(PrometheusText.seconds(durations.sum))\n"
      text += "chirrup_\(name)_count\(braced) \(durations.count)\n"
    }
  }

  private func total(_ durations: (LoopMetrics) -> DurationHistogram) -> DurationHistogram {
    var total = DurationHistogram()
    for loop in loops { total.merge(durations(loop)) }
    return total
  }

  /// See `TurnMeter`.
  mutating func stalls() {
    histogram(
      "loop_stall_seconds",
      "Elapsed time of one turn, during which all other clients of the loop wait.",
      loops.enumerated().map { (#"loop="\#($0.offset)""#, $0.element.turns.elapsed) })
    family(
      "loop_stall_longest_seconds", "gauge", "The longest turn since the start.",
      seconds: eachLoop { $0.turns.elapsed.longest })
    histogram(
      "loop_stall_processor_seconds",
      "Processor time of one turn, up to 2 ms too high; without the time of other processes.",
      loops.enumerated().map { (#"loop="\#($0.offset)""#, $0.element.turns.processor) })
    family(
      "loop_stall_processor_longest_seconds", "gauge", "The longest turn since the start.",
      seconds: eachLoop { $0.turns.processor.longest })
  }

  mutating func durations() {
    histogram(
      "ack_duration_seconds",
      "Time of a message: in the queue, until PostgreSQL has committed it, and until it is sent.",
      [
        (#"phase="queue""#, total { $0.engine.queueTimes }),
        (#"phase="commit""#, total { $0.durations.commit }),
        (#"phase="delivery""#, total { $0.durations.delivery }),
      ])
    statements()
    histogram(
      "tls_handshake_duration_seconds", "From the accept to the end of the TLS handshake.",
      [("", total { $0.durations.handshake })])
    restRequests()
  }

  private mutating func statements() {
    var statements = StatementDurations()
    for loop in loops { statements.merge(loop.durations.statements) }
    histogram(
      "statement_duration_seconds",
      "From a request to PostgreSQL until its answer, by the kind of statement.",
      [(#"statement="batch""#, total { $0.durations.batch })]
        + StatementDurations.Class.allCases.map { (#"statement="\#($0)""#, statements[$0]) })
  }

  /// See `ExpensiveReaders`.
  mutating func readers() {
    let readers = snapshot.readers
    for (name, help, value) in [
      ("max", "The most connections for statements that read much.", readers.connectionsMax),
      ("busy", "Those of them that run a statement.", readers.busy),
      ("waiting", "Statements that read much and wait for such a connection.", readers.waiting),
    ] { family("readers_\(name)", "gauge", help, [("", UInt64(max(0, value)))]) }
    histogram(
      "readers_wait_seconds", "How long statements that read much have waited for a connection.",
      [("", readers.waits)])
  }

  private mutating func restRequests() {
    var requests = RequestDurations()
    for loop in loops { requests.merge(loop.durations.requests) }
    let series = requests.times.sorted {
      ($0.key.route ?? -1, $0.key.statusClass) < ($1.key.route ?? -1, $1.key.statusClass)
    }
    histogram(
      "rest_request_duration_seconds",
      "Time of a REST request, by the pattern of its route and the class of its status.",
      series.map { key, durations in
        let route = key.route.flatMap { API.routePattern($0) } ?? ("other", "other")
        let labels =
          #"method="\#(route.method)",route="\#(route.path)",status="\#(key.statusClass)xx""#
        return (labels, durations)
      })
  }
}

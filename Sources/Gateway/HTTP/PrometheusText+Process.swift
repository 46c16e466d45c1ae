import Conversations
import Kernel
import Primitives

/// The process, its build and its certificates; and the figures of the whole database, which every
/// gateway on it reports.
extension PrometheusText {
  mutating func build() {
    let version = PrometheusText.labelValue(snapshot.version)
    family(
      "build_info", "gauge", "1; the label is the version of this gateway.",
      [(#"{version="\#(version)"}"#, 1)])
    family(
      "connections_max", "gauge", "The most connections that this gateway admits.",
      [("", UInt64(max(0, snapshot.connectionsMax)))])
    guard !snapshot.certificates.isEmpty else { return }
    family(
      "tls_certificate_expiry_timestamp_seconds", "gauge",
      "When the certificate of a file expires, in seconds since 1970.",
      snapshot.certificates.map {
        (#"{file="\#(PrometheusText.labelValue($0.file))"}"#, UInt64(max(0, $0.at)))
      })
  }

  /// The names and units of Prometheus' client libraries, which dashboards expect.
  mutating func process() {
    guard let process = snapshot.process else { return }
    standard(
      "cpu_seconds_total", "counter", "Processor time of the process.",
      PrometheusText.seconds(process.processorTime))
    standard(
      "resident_memory_bytes", "gauge", "Memory of the process in RAM.",
      "\(process.residentBytes)")
    standard(
      "virtual_memory_bytes", "gauge", "Address space of the process.", "\(process.virtualBytes)")
    standard("open_fds", "gauge", "Open descriptors.", "\(process.openDescriptors)")
    standard("max_fds", "gauge", "The most descriptors allowed.", "\(process.descriptorsMax)")
    standard(
      "start_time_seconds", "gauge", "When the process started, in seconds since 1970.",
      PrometheusText.seconds(process.startedAt.microseconds * 1_000))
  }

  private mutating func standard(
    _ name: String, _ type: String, _ help: String, _ value: String
  ) {
    head("process_" + name, type, help)
    text += "process_\(name) \(value)\n"
  }

  mutating func backlog() {
    if let backlog = snapshot.stored.backlog {
      family(
        "queue_conversations", "gauge",
        "Conversations without an operator in the whole database, at most 10000.",
        [("", UInt64(backlog.waiting))])
      family(
        "queue_oldest_wait_seconds", "gauge", "The wait of the first of them.",
        [("", UInt64(backlog.oldestSeconds))])
      family(
        "operators_online", "gauge", "Operators whose console is open on any gateway.",
        [("", UInt64(backlog.operatorsOnline))])
      family(
        "operators_available", "gauge", "Those of them who accept conversations.",
        [("", UInt64(backlog.operatorsAvailable))])
    }
    if let quarantined = snapshot.stored.quarantined {
      family(
        "quarantine_messages", "gauge",
        "Messages in quarantine in the whole database, at most 10000.", [("", UInt64(quarantined))])
    }
  }
}

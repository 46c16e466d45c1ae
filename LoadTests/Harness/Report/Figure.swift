/// The names of all figures, as used by reports, thresholds and comparisons.
///
/// A command that measures a new figure adds it to a list in `all`. Names never change, because
/// profiles and old reports contain them.
struct Figure: Sendable {
  enum Unit: String, Sendable {
    case count = ""
    case milliseconds = "ms"
    case microseconds = "µs"
    case seconds = "s"
    case bytes = "B"
    case perSecond = "/s"
    case cores
    case ratio = "×"
  }

  enum Better: Sendable { case less, more, neither }

  let name: String
  let label: String
  let unit: Unit
  let better: Better

  init(_ name: String, _ label: String, _ unit: Unit, _ better: Better) {
    self.name = name
    self.label = label
    self.unit = unit
    self.better = better
  }

  static let all =
    messages + promises + latency("ack", "Ack") + latency("delivery", "Delivery") + processes
    + rest + tortured + durable + crowds + million + works

  static func named(_ name: String) -> Figure? { byName[name] }

  private static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }

  /// The figures that `RunRecord.add(latency:)` sets.
  static func latency(_ name: String, _ label: String) -> [Figure] {
    [("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max")].map {
      Figure("\(name)_\($0.0)_ms", "\(label), \($0.1)", .milliseconds, .less)
    }
  }

  private static let messages = [
    Figure("load_seconds", "Length of the load", .seconds, .neither),
    Figure("connections", "Connections", .count, .neither),
    Figure("sent", "Messages sent", .count, .neither),
    Figure("acked", "Messages acknowledged", .count, .neither),
    Figure("delivered", "Messages delivered", .count, .neither),
    Figure("acked_per_second", "Acknowledged per second", .perSecond, .more),
    Figure("delivered_per_second", "Delivered per second", .perSecond, .more),
    Figure("resent", "Sent again", .count, .less),
    Figure("duplicate_acks", "Acknowledged as duplicates", .count, .less),
    Figure("reconnects", "Reconnects", .count, .less),
    Figure("inflated", "Deflated messages", .count, .neither),
    Figure("batch_messages", "Messages per commit, mean", .count, .neither),
    Figure("rows_compared", "Rows compared", .count, .neither),
  ]

  private static let promises = [
    Figure("lost", "Lost", .count, .less),
    Figure("duplicated", "Duplicated", .count, .less),
    Figure("reordered", "Reordered", .count, .less),
    Figure("holes", "Holes", .count, .less),
    Figure("mismatched", "Mismatched", .count, .less),
    Figure("unacknowledged", "Unanswered", .count, .less),
    Figure("refused", "Refused", .count, .less),
    Figure("resyncs", "Sessions read again (resync)", .count, .less),
  ]

  private static let processes = [
    Figure("gateway_cpu_seconds", "Gateway, processor time", .seconds, .less),
    Figure("gateway_cpu_us_per_message", "Gateway, per message", .microseconds, .less),
    Figure("gateway_cpu_us_per_delivery", "Gateway, per delivery", .microseconds, .less),
    Figure("gateway_cores", "Gateway, cores used", .cores, .less),
    Figure("gateway_resident_bytes", "Gateway, memory at the end", .bytes, .less),
    Figure("gateway_resident_bytes_max", "Gateway, memory at most", .bytes, .less),
    Figure("gateway_growth_bytes", "Gateway, growth of memory", .bytes, .less),
    Figure("postgres_cpu_us_per_message", "PostgreSQL, per message", .microseconds, .less),
    Figure("generator_cpu_us_per_message", "Generator, per message", .microseconds, .less),
    Figure("generator_cores", "Generator, busiest thread", .cores, .less),
  ]

  /// Of `echo`, `fanout` and `upgrade`; a message is an echo, a delivery or an opening.
  private static let works =
    [
      Figure("messages", "Messages", .count, .neither),
      Figure("messages_per_second", "Messages per second", .perSecond, .more),
      Figure("published", "Messages received by all", .count, .neither),
      Figure("verified", "Payloads compared", .count, .neither),
      Figure("server_cpu_seconds", "Server, processor time", .seconds, .less),
      Figure("server_cpu_us_per_message", "Server, per message", .microseconds, .less),
      Figure("server_cores", "Server, cores used", .cores, .neither),
      Figure("server_resident_bytes", "Server, memory at the end", .bytes, .less),
      Figure("client_cpu_seconds", "Client, processor time", .seconds, .neither),
      Figure("client_cpu_us_per_message", "Client, per message", .microseconds, .neither),
      Figure("client_cores", "Client, cores used", .cores, .neither),
    ] + latency("reply", "Reply") + latency("opening", "Opening")

  private static let rest = [
    Figure("bytes_per_connection", "Memory per connection", .bytes, .less),
    Figure("resident_bytes_per_connection", "Resident per connection", .bytes, .less),
    Figure("gateway_cpu_us_per_connection", "Gateway, per connection", .microseconds, .less),
    Figure("open_seconds", "Time to open all", .seconds, .less),
  ]

  private static let crowds =
    latency("recovery", "Live again") + latency("steady", "Gateway's delay, steady connections") + [
      Figure("recovery_p90_ms", "Live again, p90", .milliseconds, .less),
      Figure("gateway_cpu_us_per_reconnect", "Gateway, per reconnect", .microseconds, .less),
      Figure("delivery_p99_ratio", "p99 of the others, with slow readers / without", .ratio, .less),
      Figure(
        "delivered_ratio", "Delivered to the others, with slow readers / without", .ratio, .more),
      Figure("growth_bytes_per_slow_reader", "Growth per slow reader", .bytes, .less),
      Figure("closed_too_slow", "Closed with 4101", .count, .neither),
      Figure("idle_cores", "Gateway, cores used when idle", .cores, .less),
      Figure("delivery_cost_ratio", "Cost of a delivery, largest / smallest", .ratio, .less),
      Figure("memory_ratio", "Memory of a connection, largest / smaller", .ratio, .less),
    ]

  private static let million = [
    Figure("opened_per_second", "Widgets opened per second", .perSecond, .more),
    Figure("heartbeats", "Heartbeats answered", .count, .neither),
    Figure("gateway_bytes_per_widget", "Gateways, per widget", .bytes, .less),
    Figure("kernel_bytes_per_widget", "Kernel, per widget", .bytes, .less),
    Figure("client_bytes_per_widget", "Clients, per widget", .bytes, .neither),
    Figure("postgres_bytes_per_widget", "PostgreSQL, per widget", .bytes, .less),
    Figure("machine_bytes_per_widget", "All of the machine, per widget", .bytes, .less),
    Figure("gateway_cores_per_thousand", "Gateways at rest, 1,000 widgets", .cores, .less),
    Figure("postgres_cores_per_thousand", "PostgreSQL at rest, 1,000 widgets", .cores, .less),
    Figure("client_cores_per_thousand", "Clients at rest, 1,000 widgets", .cores, .neither),
    Figure("postgres_connections", "Connections to PostgreSQL", .count, .less),
  ]

  private static let tortured = [
    Figure("cycles", "Cycles", .count, .neither),
    Figure("links_broken", "Links broken", .count, .neither),
    Figure("commits_lost", "Commits whose answer was lost", .count, .neither),
    Figure("gateway_starts", "Starts of the gateway", .count, .neither),
    Figure("resumes", "Resumes", .count, .neither),
    Figure("descriptor_growth", "Growth of descriptors", .count, .less),
  ]

  private static let durable =
    [
      Figure("direct_per_second", "Without a gateway", .perSecond, .more),
      Figure("gateway_over_direct", "Gateway / direct", .ratio, .more),
      Figure("gateway_over_insert", "Gateway / insert", .ratio, .more),
      Figure("gateway_over_insert_pool", "Gateway / insert pool", .ratio, .more),
      Figure("gateway_over_conversation", "Gateway / conversation", .ratio, .more),
      Figure("gateway_over_conversation_pool", "Gateway / conversation pool", .ratio, .more),
      Figure("half_acked_per_second", "Acknowledged per second at half load", .perSecond, .more),
    ] + latency("half_ack", "Ack at half load")
}

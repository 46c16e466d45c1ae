import Primitives

/// When the passing of time next changes something for each connection. Kept apart from the
/// connections, so that a sweep reads one word of an idle one and not its record.
struct CheckSchedule {
  private var times: [Instant] = []

  /// Adds the connections that came since the last sweep; their check is due.
  mutating func extend(to end: ConnectionIndex) {
    while times.count < end.value { times.append(.zero) }
  }

  @inline(__always)
  func isDue(_ connection: ConnectionIndex, _ now: Instant) -> Bool {
    now >= times[connection.value]
  }

  mutating func set(_ connection: ConnectionIndex, _ time: Instant) {
    times[connection.value] = time
  }

  /// The next sweep checks the connection.
  mutating func setDue(_ connection: ConnectionIndex) {
    if connection.value < times.count { times[connection.value] = .zero }
  }
}

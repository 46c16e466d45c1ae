/// Decides what to log about a lasting fault: its begin, each new reason once, and its end.
struct Outage {
  enum Transition: Equatable {
    case begins
    case changes
  }

  /// Reasons that are remembered for one outage; further ones are not logged.
  static let reasonsMax = 16

  private var reasons: [String] = []

  /// - Returns: what to log; nil if this reason was logged before.
  mutating func note(_ reason: String) -> Transition? {
    guard reasons.count < Outage.reasonsMax, !reasons.contains(reason) else { return nil }
    reasons.append(reason)
    return reasons.count == 1 ? .begins : .changes
  }

  /// - Returns: whether there was an outage.
  mutating func end() -> Bool {
    defer { reasons = [] }
    return !reasons.isEmpty
  }
}

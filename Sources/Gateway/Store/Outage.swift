/// What the log says of a fault that lasts: when it begins, when its reason changes, and when it
/// ends, each reason once, however often it comes again in between.
struct Outage {
  enum Transition: Equatable {
    case begins
    case changes
  }

  /// Reasons of one outage that are remembered; further ones are not logged.
  static let reasonsMax = 16

  private var reasons: [String] = []

  /// - Returns: what to log, if anything.
  mutating func note(_ reason: String) -> Transition? {
    guard reasons.count < Outage.reasonsMax, !reasons.contains(reason) else { return nil }
    reasons.append(reason)
    return reasons.count == 1 ? .begins : .changes
  }

  /// - Returns: whether there was one.
  mutating func end() -> Bool {
    defer { reasons = [] }
    return !reasons.isEmpty
  }
}

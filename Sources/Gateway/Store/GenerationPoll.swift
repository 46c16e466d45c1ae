import Primitives

/// Detects that sessions were changed without this gateway: by an erasure, a restore or the
/// promotion of a standby.
struct GenerationPoll {
  static let milliseconds: Int64 = 5_000

  var next = Instant.zero
  /// The generation that was read last.
  private var known: Int64?

  /// - Returns: whether the generation has changed; the first one is no change.
  mutating func note(_ current: Int64) -> Bool {
    defer { known = current }
    return known != nil && known != current
  }
}

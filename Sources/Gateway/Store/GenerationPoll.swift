import Primitives

/// Whether sessions were changed behind the loop's back: by an erasure, by a restore, by the
/// promotion of a standby.
struct GenerationPoll {
  static let milliseconds: Int64 = 5_000

  var next = Instant.zero
  /// As last read from the database.
  private var known: Int64?

  /// The first answer only says where it stands.
  mutating func note(_ current: Int64) -> Bool {
    defer { known = current }
    return known != nil && known != current
  }
}

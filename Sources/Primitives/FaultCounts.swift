/// Counts of bad input for the metrics, by stage and by one of our own fixed texts: no data of a
/// peer becomes a label, so the code bounds the size of the table.
public struct FaultCounts: Sendable {
  /// The stage of the connection at which the fault occurred, in the order of its life.
  public enum Stage: String, Sendable, CaseIterable {
    /// Refused before a byte was read: limits and rates by address, no descriptors left.
    case connect
    case tls
    /// A head or a body that is malformed, too large or too late.
    case http
    /// The opening handshake: its fields, the origin, admission.
    case upgrade
    /// RFC 6455 frames.
    case frame
    /// RFC 7692 payloads.
    case deflate
    /// The chirrup.v1 conversation: no hello, a bad token, abuse, no answer.
    case conversation
  }

  public struct Key: Hashable, Sendable {
    public let stage: Stage
    public let reason: String
  }

  public private(set) var counts: [Key: UInt64] = [:]

  public init() {}

  public mutating func count(_ stage: Stage, _ reason: StaticString) {
    counts[Key(stage: stage, reason: reason.description), default: 0] += 1
  }

  public mutating func merge(_ other: FaultCounts) {
    counts.merge(other.counts) { $0 + $1 }
  }
}

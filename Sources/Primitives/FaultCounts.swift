/// How often each kind of bad input came, for the metrics: a stage and one of our own fixed texts,
/// so that nothing of a peer's data becomes a label and the table stays as small as the code.
public struct FaultCounts: Sendable {
  /// How far the peer had come, in the order of a connection's life.
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

/// What a node has done for webhooks since it started, for `/metrics`.
public struct DeliveryFigures: Sendable, Equatable {
  /// Deliveries of the whole database that wait, as last counted.
  public var pending = 0
  /// Requests under way.
  public var underWay = 0
  /// Taken by their receivers.
  public var delivered: UInt64 = 0
  /// Attempts that failed, whether another follows or not.
  public var attemptsFailed: UInt64 = 0
  /// Given up after the last attempt.
  public var failed: UInt64 = 0

  public init() {}
}

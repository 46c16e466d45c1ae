/// The webhook metrics of a node since its start, for `/metrics`.
public struct DeliveryMetrics: OutboxMetrics, Equatable {
  /// The pending deliveries of the whole database, at the last count.
  public var pending = 0
  /// The age in seconds of the oldest of them, at the last count.
  public var oldestPendingSeconds: Int64 = 0
  /// The requests in flight.
  public var inFlight = 0
  /// Deliveries that receivers accepted.
  public var delivered: UInt64 = 0
  /// Failed attempts, including those that are retried.
  public var attemptsFailed: UInt64 = 0
  /// Deliveries whose last attempt failed.
  public var failed: UInt64 = 0

  public init() {}
}

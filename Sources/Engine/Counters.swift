import Chat
public import Primitives

/// An engine's counters for the metrics.
public struct Counters: Sendable {
  public var framesReceived: UInt64 = 0
  public var commandsReceived: UInt64 = 0
  public var sendsAccepted: UInt64 = 0
  public var committed: UInt64 = 0
  public var duplicates: UInt64 = 0
  public var delivered: UInt64 = 0
  public var refused: [UInt64] = Array(repeating: 0, count: Refusal.allCases.count)
  /// Connections closed because of the peer's input.
  public var faults = FaultCounts()
  public var slowConsumers: UInt64 = 0
  /// Deflated texts; one that many connections share counts once.
  public var deflated: UInt64 = 0
  public var batches: UInt64 = 0
  public var batchMessages: UInt64 = 0
  /// Batches by size: element n counts those of 2ⁿ to 2ⁿ⁺¹ − 1 messages, the last also larger ones.
  public var batchSizes: [UInt64] = Array(repeating: 0, count: Counters.batchSizeCount)
  /// Sessions read into memory, and sessions evicted to make room for others.
  public var sessionLoads: UInt64 = 0
  public var sessionEvictions: UInt64 = 0
  /// Sessions whose recent entries were dropped to make room for others.
  public var recentDrops: UInt64 = 0

  /// Covers `Limits.batchRecords`.
  public static let batchSizeCount = 11

  public init() {}

  mutating func countBatch(_ size: Int) {
    batches += 1
    batchMessages += UInt64(size)
    let power = Int.bitWidth - 1 - max(1, size).leadingZeroBitCount
    batchSizes[min(power, Counters.batchSizeCount - 1)] += 1
  }
}

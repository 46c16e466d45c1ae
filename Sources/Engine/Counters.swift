import Chat
public import Primitives

/// What the metrics show of an engine. Only its own loop writes it.
public struct Counters: Sendable {
  public var framesReceived: UInt64 = 0
  public var commandsReceived: UInt64 = 0
  public var sendsAccepted: UInt64 = 0
  public var committed: UInt64 = 0
  public var duplicates: UInt64 = 0
  public var delivered: UInt64 = 0
  public var refused: [UInt64] = Array(repeating: 0, count: Refusal.allCases.count)
  /// Connections closed for what the peer did.
  public var faults = FaultCounts()
  public var slowConsumers: UInt64 = 0
  /// Texts that were deflated: once for each fan-out, however many get it.
  public var deflated: UInt64 = 0
  public var batches: UInt64 = 0
  public var batchMessages: UInt64 = 0
  /// By size: element n counts batches of 2ⁿ to 2ⁿ⁺¹ - 1 messages, the last one larger ones too.
  public var batchSizes: [UInt64] = Array(repeating: 0, count: Counters.batchSizeCount)
  /// Sessions that were read into memory, and that left it because others needed the room.
  public var sessionLoads: UInt64 = 0
  public var sessionEvictions: UInt64 = 0
  /// Recent messages of a session that left memory because others needed the room.
  public var recentDrops: UInt64 = 0

  /// Enough for `Limits.batchRecords`.
  public static let batchSizeCount = 11

  public init() {}

  mutating func countBatch(_ size: Int) {
    batches += 1
    batchMessages += UInt64(size)
    let power = Int.bitWidth - 1 - max(1, size).leadingZeroBitCount
    batchSizes[min(power, Counters.batchSizeCount - 1)] += 1
  }
}

import Synchronization

/// Counters of this gateway, for `/metrics`.
public final class AttachmentCounts: Sendable {
  public init() {}

  private let receivedCount = Atomic<UInt64>(0)
  private let sentCount = Atomic<UInt64>(0)
  private let storedCount = Atomic<UInt64>(0)
  private let refusedCount = Atomic<UInt64>(0)
  private let infectedCount = Atomic<UInt64>(0)
  private let unscannedCount = Atomic<UInt64>(0)

  /// Bytes of parts that were written.
  public var receivedBytes: UInt64 { receivedCount.load(ordering: .relaxed) }
  /// Bytes that were read for downloads.
  public var sentBytes: UInt64 { sentCount.load(ordering: .relaxed) }
  /// Uploads that are stored.
  public var stored: UInt64 { storedCount.load(ordering: .relaxed) }
  /// Complete uploads that were refused for their content.
  public var refusals: UInt64 { refusedCount.load(ordering: .relaxed) }
  /// Uploads in which the scanner found a virus.
  public var infected: UInt64 { infectedCount.load(ordering: .relaxed) }
  /// Scans without a verdict.
  public var unscanned: UInt64 { unscannedCount.load(ordering: .relaxed) }

  func received(_ count: Int) { receivedCount.add(UInt64(count), ordering: .relaxed) }
  func sent(_ count: Int) { sentCount.add(UInt64(count), ordering: .relaxed) }
  func noteInfected() { infectedCount.add(1, ordering: .relaxed) }
  func noteUnscanned() { unscannedCount.add(1, ordering: .relaxed) }
  func refused() { refusedCount.add(1, ordering: .relaxed) }
  /// The row says so.
  public func noteStored() { storedCount.add(1, ordering: .relaxed) }
}

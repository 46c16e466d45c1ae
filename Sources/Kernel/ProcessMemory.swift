import CLinux

/// The allocator's free memory, which glibc keeps for later allocations even when it is far larger
/// than needed.
public enum ProcessMemory {
  /// An allocation of at least this many bytes has pages of its own, which the kernel gets back
  /// when it is freed.
  private static let ownPagesBytes: Int32 = 1 << 20
  /// Free bytes at the end of an arena that are kept.
  private static let keptBytes: Int32 = 4 << 20

  /// Limits the free memory that each arena keeps (mallopt(3)). By default glibc raises both limits
  /// to the largest buffer that was freed, up to 32 and 64 MiB: twelve echoes of 16 MiB left
  /// 126 MiB.
  ///
  /// Call it before the first thread starts.
  public static func limitFreeMemory() {
    mallopt(M_MMAP_THRESHOLD, ownPagesBytes)
    mallopt(M_TRIM_THRESHOLD, keptBytes)
  }

  /// Returns free pages to the kernel (malloc_trim(3)). It takes some milliseconds after a burst of
  /// connections, so call it after a burst, not per connection.
  public static func giveBack() { _ = malloc_trim(0) }
}

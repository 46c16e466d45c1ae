import CLinux

/// The allocator's free memory, which glibc keeps for later allocations even when it is far larger
/// than needed.
public enum ProcessMemory {
  /// Returns free pages to the kernel (malloc_trim(3)). It takes some milliseconds after a burst of
  /// connections, so call it after a burst, not per connection.
  public static func giveBack() { _ = malloc_trim(0) }
}

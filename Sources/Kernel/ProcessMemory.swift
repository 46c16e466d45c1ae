import CLinux

/// The allocator's free memory: glibc keeps what is freed for the next allocation, also when it is
/// a hundred times what the process needs.
public enum ProcessMemory {
  /// Gives free pages back to the kernel (malloc_trim(3)). It looks through all that is free, some
  /// milliseconds after a flood: for the time behind one, not for each connection.
  public static func giveBack() { _ = malloc_trim(0) }
}

import CLinux

/// A counting semaphore for threads (sem_init(3)). It needs no descriptor, so it works when the
/// process has none left.
@safe public final class Semaphore: @unchecked Sendable {
  // SAFETY: one allocation with a fixed address; the C library's functions are thread-safe.
  private let storage: UnsafeMutablePointer<sem_t>

  public init() {
    // SAFETY: initialised before another thread can access it. sem_init fails only for invalid
    // arguments.
    unsafe storage = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    _ = unsafe sem_init(storage, 0, 0)
  }

  deinit {
    // SAFETY: waiting and signalling threads hold a reference, so there are none.
    _ = unsafe sem_destroy(storage)
    unsafe storage.deallocate()
  }

  public func signal() {
    // SAFETY: initialised in `init`. It fails only beyond 2^31 pending signals.
    _ = unsafe sem_post(storage)
  }

  /// Waits for a signal; each signal wakes one wait.
  public func wait() {
    // SAFETY: initialised in `init`.
    while unsafe sem_wait(storage) == -1 && chirrup_errno() == EINTR {}
  }

  /// Likewise, for at most this time of the monotonic clock.
  ///
  /// - Returns: whether there was a signal.
  public func wait(milliseconds: Int64) -> Bool {
    var limit = timespec()
    // SAFETY: `limit` is written during the call. It fails only for unknown clocks.
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &limit)
    let nanoseconds = Int64(limit.tv_nsec) + milliseconds % 1_000 * 1_000_000
    limit.tv_sec += Int(milliseconds / 1_000 + nanoseconds / 1_000_000_000)
    limit.tv_nsec = Int(nanoseconds % 1_000_000_000)
    while true {
      // SAFETY: initialised in `init`; the limit is read during the call.
      if unsafe sem_clockwait(storage, CLOCK_MONOTONIC, &limit) == 0 { return true }
      if chirrup_errno() != EINTR { return false }
    }
  }
}

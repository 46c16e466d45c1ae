import CLinux

/// A count that threads wait for: sem_init(3). It needs no descriptor, so it also works when they
/// have run out.
@safe public final class Semaphore: @unchecked Sendable {
  // SAFETY: one allocation, whose address the C library keeps; its functions are made for threads.
  private let storage: UnsafeMutablePointer<sem_t>

  public init() {
    // SAFETY: initialised before anybody else can know it. sem_init fails for wrong arguments only.
    unsafe storage = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    _ = unsafe sem_init(storage, 0, 0)
  }

  deinit {
    // SAFETY: whoever waits or signals holds a reference, so nobody does.
    _ = unsafe sem_destroy(storage)
    unsafe storage.deallocate()
  }

  public func signal() {
    // SAFETY: initialised in `init`. It fails beyond 2^31 signals that nobody waited for.
    _ = unsafe sem_post(storage)
  }

  /// Until there is a signal for this call alone.
  public func wait() {
    // SAFETY: initialised in `init`.
    while unsafe sem_wait(storage) == -1 && chirrup_errno() == EINTR {}
  }
}

import CLinux

/// An eventfd (eventfd(2)), which wakes a loop. Any thread may signal it; the loop waits for it in
/// epoll.
public struct EventCounter: ~Copyable, Sendable {
  private let descriptor: FileDescriptor

  public init() throws(Errno) {
    let number = try retrying { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) }
    descriptor = FileDescriptor(owning: number)
  }

  /// For epoll.
  public var rawValue: Int32 { descriptor.rawValue }

  /// Never blocks. If the counter is full, it is readable already.
  public func signal() {
    var one: UInt64 = 1
    // SAFETY: eight bytes of `one` are read during the call.
    while unsafe CLinux.write(descriptor.rawValue, &one, 8) == -1 && chirrup_errno() == EINTR {}
  }

  /// Resets the counter and returns the number of signals since the last reset.
  @discardableResult
  public func drain() -> UInt64 {
    var count: UInt64 = 0
    // SAFETY: at most eight bytes are written to `count` during the call.
    while unsafe CLinux.read(descriptor.rawValue, &count, 8) == -1 && chirrup_errno() == EINTR {}
    return count
  }
}

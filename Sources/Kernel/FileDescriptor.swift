import CLinux

/// An open descriptor and the duty to close it. What else needs the number (epoll, OpenSSL, libpq)
/// borrows it from here and may not outlive it.
public struct FileDescriptor: ~Copyable, Sendable {
  public let rawValue: Int32

  /// Takes ownership.
  public init(owning rawValue: Int32) {
    precondition(rawValue >= 0, "not an open descriptor")
    self.rawValue = rawValue
  }

  deinit {
    // Not repeated on EINTR: on Linux the descriptor is gone whatever close(2) answers.
    _ = close(rawValue)
  }

  /// Gives the descriptor away without closing it.
  public consuming func release() -> Int32 {
    let number = rawValue
    discard self
    return number
  }
}

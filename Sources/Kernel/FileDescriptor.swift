import CLinux

/// An open descriptor, closed by `deinit`. Borrowers of the number (epoll, OpenSSL, libpq) must not
/// outlive it.
public struct FileDescriptor: ~Copyable, Sendable {
  public let rawValue: Int32

  /// Takes ownership.
  public init(owning rawValue: Int32) {
    precondition(rawValue >= 0, "a negative number is no descriptor")
    self.rawValue = rawValue
  }

  deinit {
    // Not repeated after EINTR: Linux closes the descriptor in any case (close(2)).
    _ = close(rawValue)
  }

  /// Returns the number without closing it; the caller becomes the owner.
  public consuming func release() -> Int32 {
    let number = rawValue
    discard self
    return number
  }
}

/// All descriptors of this process.
public enum Descriptors {
  /// Sets FD_CLOEXEC on all open descriptors but the standard ones, because libraries open some
  /// without it. Throws `invalidArgument` before Linux 5.11; there `SpawnPlan` closes them instead.
  public static func closeOnExec() throws(Errno) {
    _ = try retrying { chirrup_close_on_exec(3) }
  }
}

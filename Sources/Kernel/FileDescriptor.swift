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

/// All descriptors of this process.
public enum Descriptors {
  /// Closes what is open now in every program that is started later (FD_CLOEXEC), for what a
  /// library has opened without it. The standard ones stay. `invalidArgument` before Linux 5.11:
  /// there only `SpawnPlan` keeps them back.
  public static func closeOnExec() throws(Errno) {
    _ = try retrying { chirrup_close_on_exec(3) }
  }
}

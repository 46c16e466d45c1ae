import CLinux

/// The signals that a process may handle.
public enum Signal: Int32, Sendable, CaseIterable {
  case hangUp = 1
  case interrupt = 2
  case quit = 3
  case kill = 9
  case user1 = 10
  case user2 = 12
  case pipe = 13
  case terminate = 15
  case `continue` = 18
  case stop = 19
}

/// Receives signals as events (signalfd(2)) instead of in handlers, which may do very little.
///
/// Create it before any other thread starts: later threads inherit the signal mask, and a thread
/// that does not block a signal would receive it.
public struct SignalDescriptor: ~Copyable, Sendable {
  private let descriptor: FileDescriptor

  public init(_ signals: [Signal]) throws(Errno) {
    var set = sigset_t()
    // SAFETY: `set` is a local that the calls fill in.
    _ = unsafe sigemptyset(&set)
    for signal in signals {
      // SAFETY: as above.
      _ = unsafe sigaddset(&set, signal.rawValue)
    }
    // SAFETY: `set` is only read; the old mask is not requested.
    let failure = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    guard failure == 0 else { throw Errno(rawValue: failure) }
    // SAFETY: `set` is only read.
    let number = try retrying { unsafe signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK)) }
    descriptor = FileDescriptor(owning: number)
  }

  /// For epoll.
  public var rawValue: Int32 { descriptor.rawValue }

  /// The next pending signal; nil without any.
  public func next() -> Signal? {
    var info = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    // SAFETY: at most `size` bytes are written to `info` during the call.
    while unsafe CLinux.read(descriptor.rawValue, &info, size) != size {
      if chirrup_errno() != EINTR { return nil }
    }
    return Signal(rawValue: Int32(bitPattern: info.ssi_signo))
  }

  /// Ignores SIGPIPE in the process, because OpenSSL and libpq write without MSG_NOSIGNAL.
  public static func ignoreBrokenPipes() {
    chirrup_ignore_signal(SIGPIPE)
  }
}

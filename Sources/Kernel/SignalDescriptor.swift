import CLinux

/// The signals a process may ask about.
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

/// Signals as events (signalfd(2)) instead of handlers, which may do next to nothing.
///
/// Make it in the first thread before any other starts: blocking is inherited by later threads
/// only, and a signal that one thread does not block is delivered there.
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
    // SAFETY: `set` is only read; the old mask is not asked for.
    let failure = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    guard failure == 0 else { throw Errno(rawValue: failure) }
    // SAFETY: `set` is only read.
    let number = try retrying { unsafe signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK)) }
    descriptor = FileDescriptor(owning: number)
  }

  /// For epoll.
  public var rawValue: Int32 { descriptor.rawValue }

  /// The next signal that has come, or nil.
  public func next() -> Signal? {
    var info = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    // SAFETY: at most `size` bytes are written to `info` during the call.
    while unsafe CLinux.read(descriptor.rawValue, &info, size) != size {
      if chirrup_errno() != EINTR { return nil }
    }
    return Signal(rawValue: Int32(bitPattern: info.ssi_signo))
  }

  /// Ignores SIGPIPE for the process: OpenSSL and libpq write without MSG_NOSIGNAL.
  public static func ignoreBrokenPipes() {
    chirrup_ignore_signal(SIGPIPE)
  }
}

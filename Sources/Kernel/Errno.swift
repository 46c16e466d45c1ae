import CLinux

/// A system call's error number as a typed error.
public struct Errno: Error, RawRepresentable, Hashable, Sendable {
  public var rawValue: Int32

  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// What the last failed call of this thread left behind. Read it before anything else is called.
  static var current: Errno { Errno(rawValue: chirrup_errno()) }

  public static let interrupted = Errno(rawValue: EINTR)
  public static let wouldBlock = Errno(rawValue: EAGAIN)
  public static let inProgress = Errno(rawValue: EINPROGRESS)
  public static let connectionReset = Errno(rawValue: ECONNRESET)
  public static let connectionRefused = Errno(rawValue: ECONNREFUSED)
  public static let brokenPipe = Errno(rawValue: EPIPE)
  public static let addressInUse = Errno(rawValue: EADDRINUSE)
  public static let addressNotAvailable = Errno(rawValue: EADDRNOTAVAIL)
  public static let invalidArgument = Errno(rawValue: EINVAL)
  public static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
  public static let noEntry = Errno(rawValue: ENOENT)
  public static let timedOut = Errno(rawValue: ETIMEDOUT)

  /// The symbol of the manual, for example `ECONNRESET`.
  public var name: String {
    // SAFETY: glibc returns a string constant or NULL.
    guard let symbol = unsafe strerrorname_np(rawValue) else { return "E\(rawValue)" }
    // SAFETY: a string constant ends with NUL and lives for ever.
    return unsafe String(cString: symbol)
  }

  /// The sentence of the manual, in English whatever the locale.
  public var text: String {
    // SAFETY: as above.
    guard let sentence = unsafe strerrordesc_np(rawValue) else { return "unknown error" }
    // SAFETY: as above.
    return unsafe String(cString: sentence)
  }
}

extension Errno: CustomStringConvertible {
  public var description: String { "\(text) (\(name))" }
}

/// Calls again while a signal interrupts; -1 is the failure of every system call used here.
@inline(__always)
func retrying<Number: FixedWidthInteger & SignedInteger>(
  _ call: () -> Number
) throws(Errno) -> Number {
  while true {
    let result = call()
    if result != -1 { return result }
    let error = Errno.current
    if error != .interrupted { throw error }
  }
}

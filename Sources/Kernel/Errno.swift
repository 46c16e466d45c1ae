import CLinux

/// A system call's error number as a typed error.
public struct Errno: Error, RawRepresentable, Hashable, Sendable {
  public var rawValue: Int32

  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// The error of the last failed call on this thread. Read it before any other call.
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
  public static let exists = Errno(rawValue: EEXIST)
  public static let noSpace = Errno(rawValue: ENOSPC)
  public static let timedOut = Errno(rawValue: ETIMEDOUT)

  /// The symbolic name, for example `ECONNRESET`.
  public var name: String {
    // SAFETY: glibc returns a string constant or NULL.
    guard let symbol = unsafe strerrorname_np(rawValue) else { return "E\(rawValue)" }
    // SAFETY: a string constant ends with NUL and is never freed.
    return unsafe String(cString: symbol)
  }

  /// The description in English, independent of the locale.
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

/// Repeats a system call that a signal interrupted; -1 means that it failed.
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

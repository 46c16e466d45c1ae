/// A process as a descriptor (pidfd_open(2)) that becomes readable at the end of the process,
/// instead of polling. The process need not be a child.
import CPidfd
import Glibc
import Kernel
import Primitives

final class ProcessDescriptor {
  private let epoll: Epoll
  private let descriptor: FileDescriptor
  private var events = Events(capacity: 2)

  /// - Throws: ESRCH when no process has the number.
  init(_ process: Int32) throws(Errno) {
    let number = chirrup_pidfd_open(process)
    guard number >= 0 else { throw Errno(rawValue: errno) }
    descriptor = FileDescriptor(owning: number)
    epoll = try Epoll()
    try epoll.add(descriptor, .read, datum: 0)
  }

  /// Returns true at the end of the process; false after the time, or when `other` becomes
  /// readable. `other` must be the same descriptor in each call.
  func awaitEnd(
    milliseconds: Int64, orReadable other: Int32? = nil
  ) throws(Errno) -> Bool {
    if let other { try epoll.add(rawValue: other, .read, datum: 1) }
    let limit = SystemClock.now().advanced(byMilliseconds: milliseconds)
    while true {
      let left = max(0, limit.milliseconds(since: SystemClock.now()))
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(clamping: left))
      for position in 0..<events.count where events[position].datum == 0 { return true }
      // A signal interrupts the wait.
      if events.count > 0 || left == 0 { return false }
    }
  }
}

extension ChildProcess {
  /// Waits for the end of the process; nil after the time, or when `other` becomes readable first.
  mutating func wait(
    milliseconds: Int64, orReadable other: Int32? = nil
  ) throws(Errno) -> ExitStatus? {
    if let status = try poll() { return status }
    let descriptor = try ProcessDescriptor(processIdentifier)
    _ = try descriptor.awaitEnd(milliseconds: milliseconds, orReadable: other)
    return try poll()
  }
}

import CLinux
public import Primitives
import Synchronization

/// Messages to the service manager that started this process (sd_notify(3)): a datagram with lines
/// of NAME=value to the Unix socket of NOTIFY_SOCKET. Without that variable nothing is sent.
///
/// Any thread may send. A manager that does not read delays a sender by at most `waitMilliseconds`.
public final class ServiceManager: Sendable {
  public enum Message: Equatable, Sendable {
    case ready
    /// The configuration is read again; `ready` ends it. systemd requires the time.
    case reloading(at: Instant)
    case stopping
    /// The process works: needed at least every `watchdogMilliseconds`.
    case watchdog
    /// Prolongs the present time limit to this time from now.
    case extendTimeout(milliseconds: Int64)
    /// One line for people, which `systemctl status` shows.
    case status(String)

    var lines: String {
      switch self {
      case .ready: "READY=1"
      case .reloading(let now): "RELOADING=1\nMONOTONIC_USEC=\(now.nanoseconds / 1_000)"
      case .stopping: "STOPPING=1"
      case .watchdog: "WATCHDOG=1"
      case .extendTimeout(let milliseconds): "EXTEND_TIMEOUT_USEC=\(milliseconds * 1_000)"
      case .status(let text): "STATUS=\(Self.line(text))"
      }
    }

    /// A reason of PostgreSQL may have several lines, of which each would be an assignment.
    private static func line(_ text: String) -> String {
      String(
        decoding: text.utf8.map { $0.isASCIIControl ? UInt8(ascii: " ") : $0 }
          .prefix(statusBytesMax), as: UTF8.self)
    }
  }

  /// systemd reads datagrams of at most 4,096 bytes.
  private static let statusBytesMax = 1_024
  static let waitMilliseconds = 500
  /// While `whileExtending` runs, this is sent often enough for two messages to be lost.
  private static let extensionMilliseconds: Int64 = 30_000
  private static let extensionPauseMilliseconds: Int64 = 10_000

  private let address: RawAddress
  /// The time within which the manager wants a `watchdog`; nil if it does not watch this process.
  public let watchdogMilliseconds: Int64?
  private let report: @Sendable (Errno) -> Void
  /// The last error, which is reported once.
  private let fault = Atomic<Int32>(0)

  /// - Parameters:
  ///   - path: the value of NOTIFY_SOCKET: a path, or `@` and an abstract name (unix(7)).
  ///   - report: called when messages fail, once for each reason.
  public init(
    path: String, watchdogMilliseconds: Int64? = nil,
    report: @escaping @Sendable (Errno) -> Void
  ) throws(Errno) {
    guard path.utf8.first == UInt8(ascii: "/") || path.utf8.first == UInt8(ascii: "@") else {
      throw .invalidArgument
    }
    address =
      path.first == "@"
      ? try RawAddress(abstractName: path.dropFirst()) : try RawAddress(path: path)
    self.watchdogMilliseconds = watchdogMilliseconds
    self.report = report
  }

  /// Reads and removes the manager's variables, so that no program that this one starts answers in
  /// its place. Call it while the process has one thread.
  ///
  /// - Returns: nil if no manager waits for messages.
  public static func take(report: @escaping @Sendable (Errno) -> Void) -> ServiceManager? {
    let path = Environment.take("NOTIFY_SOCKET")
    let interval = Environment.take("WATCHDOG_USEC").flatMap { Int64($0) }
    let watched = Environment.take("WATCHDOG_PID")
    guard let path, !path.isEmpty else { return nil }
    // The variables of a parent's manager do not concern this process.
    let isWatched = watched == nil || watched == "\(getpid())"
    do throws(Errno) {
      return try ServiceManager(
        path: path,
        watchdogMilliseconds: isWatched ? interval.flatMap { $0 > 0 ? $0 / 1_000 : nil } : nil,
        report: report)
    } catch {
      report(error)
      return nil
    }
  }

  public func send(_ messages: Message...) {
    do throws(Errno) {
      try deliver(messages.map { $0.lines + "\n" }.joined())
      fault.store(0, ordering: .relaxed)
    } catch {
      if fault.exchange(error.rawValue, ordering: .relaxed) != error.rawValue { report(error) }
    }
  }

  private func deliver(_ text: String) throws(Errno) {
    let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
    let number = try retrying { CLinux.socket(AF_UNIX, type, 0) }
    let socket = FileDescriptor(owning: number)
    try socket.setSendTimeout(milliseconds: ServiceManager.waitMilliseconds)
    let bytes = Array(text.utf8)
    let flags = Int32(MSG_NOSIGNAL)
    // SAFETY: the bytes and the address are read during the call.
    _ = try retrying {
      unsafe address.withPointer { pointer, length in
        unsafe sendto(number, bytes, bytes.count, flags, pointer, length)
      }
    }
  }

  /// Runs the work, which may take any time, and meanwhile prolongs the manager's time limit from
  /// another thread.
  public func whileExtending<Value>(_ work: () throws -> Value) throws -> Value {
    let end = try EndOfWork()
    let thread = try Thread.spawn(name: "extension") {
      repeat {
        self.send(.extendTimeout(milliseconds: ServiceManager.extensionMilliseconds))
      } while !end.hasCome(within: ServiceManager.extensionPauseMilliseconds)
    }
    let result = Result { try work() }
    end.come()
    thread.join()
    return try result.get()
  }

  private final class EndOfWork: Sendable {
    private let counter: EventCounter

    init() throws(Errno) { counter = try EventCounter() }

    func come() { counter.signal() }

    func hasCome(within milliseconds: Int64) -> Bool {
      do throws(Errno) {
        let epoll = try Epoll()
        try epoll.add(rawValue: counter.rawValue, .read, datum: 0)
        var events = Events(capacity: 1)
        try epoll.wait(into: &events, timeoutMilliseconds: Int32(milliseconds))
        return events.count > 0
      } catch {
        return true
      }
    }
  }
}

/// The messages to the service manager, received by a real datagram socket.
import Glibc
import Primitives
import Synchronization
import Testing

@testable import Kernel

/// The socket of a service manager.
final class ManagerSocket: Sendable {
  let path: String
  private let descriptor: FileDescriptor

  /// - Parameter path: begins with `@` for an abstract name.
  init(path: String) throws {
    self.path = path
    let number = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    descriptor = FileDescriptor(owning: number)
    let address =
      path.hasPrefix("@")
      ? try RawAddress(abstractName: path.dropFirst()) : try RawAddress(path: path)
    // SAFETY: the address is read during the call.
    let failure = unsafe address.withPointer { unsafe Glibc.bind(number, $0, $1) }
    try #require(failure == 0)
  }

  deinit {
    // SAFETY: the path is copied into a C string for the call.
    if path.hasPrefix("/") { unsafe _ = unlink(path) }
  }

  /// The lines of the next datagram.
  func next() -> [String] {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    // SAFETY: the kernel writes at most as many bytes as the array has.
    let count = unsafe recv(descriptor.rawValue, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      .split(separator: "\n").map(String.init)
  }

  static func temporary() throws -> ManagerSocket {
    try ManagerSocket(path: "/tmp/chirrup-manager-\(Random.uint64())")
  }
}

@Suite struct ServiceManagerTests {
  private func manager(_ path: String) throws -> ServiceManager {
    try ServiceManager(path: path) { Issue.record("\($0)") }
  }

  @Test("each message is its lines of sd_notify(3), at a path and at an abstract name")
  func messages() throws {
    let name = "@chirrup-manager-\(Random.uint64())"
    for socket in [try ManagerSocket.temporary(), try ManagerSocket(path: name)] {
      let manager = try manager(socket.path)
      manager.send(.ready, .status("serving"))
      #expect(socket.next() == ["READY=1", "STATUS=serving"])
      manager.send(.reloading(at: Instant(nanoseconds: 1_234_567)))
      #expect(socket.next() == ["RELOADING=1", "MONOTONIC_USEC=1234"])
      manager.send(.stopping)
      #expect(socket.next() == ["STOPPING=1"])
      manager.send(.watchdog)
      #expect(socket.next() == ["WATCHDOG=1"])
      manager.send(.extendTimeout(milliseconds: 30_000))
      #expect(socket.next() == ["EXTEND_TIMEOUT_USEC=30000000"])
    }
  }

  @Test("a status is one line of at most 1,024 bytes")
  func status() throws {
    let socket = try ManagerSocket.temporary()
    let manager = try manager(socket.path)
    manager.send(.status("a\nREADY=1"))
    #expect(socket.next() == ["STATUS=a READY=1"])
    manager.send(.status(String(repeating: "ä", count: 3_000)))
    #expect(socket.next().first?.utf8.count == 7 + 1_024)
  }

  @Test("the time limit is prolonged from the beginning of long work, and its error is passed on")
  func extending() throws {
    let socket = try ManagerSocket.temporary()
    let manager = try manager(socket.path)
    let result = try manager.whileExtending { socket.next() }
    #expect(result == ["EXTEND_TIMEOUT_USEC=30000000"])
    #expect(throws: Errno.timedOut) {
      try manager.whileExtending { throw Errno.timedOut }
    }
  }

  @Test("a failure is reported once for each reason, and again after a success")
  func failures() throws {
    let path = "/tmp/chirrup-manager-\(Random.uint64())"
    let reports = Mutex<[Errno]>([])
    let manager = try ServiceManager(path: path) { error in reports.withLock { $0.append(error) } }
    manager.send(.ready)
    manager.send(.ready)
    #expect(reports.withLock { $0 } == [.noEntry])
    do {
      let socket = try ManagerSocket(path: path)
      manager.send(.ready)
      #expect(socket.next() == ["READY=1"])
    }
    manager.send(.ready)
    #expect(reports.withLock { $0 } == [.noEntry, .noEntry])
  }

  @Test("a manager that does not read delays the sender by half a second at most")
  func full() throws {
    let socket = try ManagerSocket.temporary()
    let reports = Mutex<[Errno]>([])
    let manager = try ServiceManager(path: socket.path) { error in
      reports.withLock { $0.append(error) }
    }
    let begin = SystemClock.now()
    // The kernel queues few datagrams (net.unix.max_dgram_qlen).
    for _ in 0..<100_000 where reports.withLock(\.isEmpty) { manager.send(.watchdog) }
    #expect(reports.withLock { $0 } == [.wouldBlock])
    #expect(SystemClock.now().milliseconds(since: begin) >= ServiceManager.waitMilliseconds - 50)
  }

  @Test("paths that are neither absolute nor abstract, and those that are too long, are refused")
  func paths() {
    #expect(throws: Errno.invalidArgument) { try ServiceManager(path: "vsock:2:1234") { _ in } }
    let long = String(repeating: "a", count: 108)
    for path in ["/" + long, "@" + long] {
      #expect(throws: Errno.nameTooLong) { try ServiceManager(path: path) { _ in } }
    }
  }

  @Test("the variables are taken once, and a watchdog of another process is ignored")
  func variables() async {
    await #expect(processExitsWith: .exitCode(17)) {
      func take() -> ServiceManager? { ServiceManager.take { _ in exit(1) } }
      guard take() == nil else { exit(2) }
      setVariable("NOTIFY_SOCKET", "/run/systemd/notify")
      setVariable("WATCHDOG_USEC", "30000000")
      setVariable("WATCHDOG_PID", "\(getpid())")
      guard take()?.watchdogMilliseconds == 30_000, take() == nil else { exit(3) }
      for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
        guard Environment.take(name) == nil else { exit(4) }
      }
      setVariable("NOTIFY_SOCKET", "/run/systemd/notify")
      setVariable("WATCHDOG_USEC", "30000000")
      setVariable("WATCHDOG_PID", "1")
      guard let manager = take(), manager.watchdogMilliseconds == nil else { exit(5) }
      exit(17)
    }
  }
}

private func setVariable(_ name: String, _ value: String) {
  // SAFETY: the texts are copied for the call.
  unsafe _ = setenv(name, value, 1)
}

/// Socket activation: real sockets in a process of their own, from a descriptor on that nothing
/// else in the process uses. A service manager's begin at 3, where the test harness has its own.
import Glibc
import Primitives
import Testing

@testable import Kernel

private let first: Int32 = 900

@Suite struct InheritedSocketTests {
  @Test("listening sockets are taken with their names and addresses, and accept connections")
  func listening() async {
    await #expect(processExitsWith: .exitCode(17)) {
      let one = try place(try Sockets.listen(on: .loopback, port: 0), at: first)
      let two = try place(try Sockets.listen(on: .loopback, port: 0), at: first + 1)
      announce(count: "2", names: "http:admin")
      let sockets = try InheritedSockets.take(from: first)
      guard sockets.map(\.name) == ["http", "admin"] else { exit(1) }
      guard sockets.map(\.address.port) == [one, two] else { exit(2) }
      guard fcntl(first, F_GETFD) == FD_CLOEXEC, fcntl(first + 1, F_GETFL) & O_NONBLOCK != 0 else {
        exit(3)
      }
      let listener = try sockets[1].duplicate()
      guard case .wouldBlock = listener.accept() else { exit(4) }
      let client = try Sockets.connect(to: .loopback, port: two)
      let epoll = try Epoll()
      try epoll.add(listener, [.read, .exclusive], datum: 1)
      var events = Events(capacity: 1)
      try epoll.wait(into: &events, timeoutMilliseconds: 60_000)
      guard case .accepted = listener.accept(), client.rawValue > 0 else { exit(5) }
      guard Environment.take("LISTEN_FDS") == nil, try InheritedSockets.take(from: first).isEmpty
      else {
        exit(6)
      }
      exit(17)
    }
  }

  @Test("variables of another process are removed and ignored")
  func other() async {
    await #expect(processExitsWith: .exitCode(17)) {
      announce(count: "1", names: "http", process: "1")
      guard try InheritedSockets.take(from: first).isEmpty, Environment.take("LISTEN_PID") == nil
      else {
        exit(1)
      }
      exit(17)
    }
  }

  @Test("what is no listening TCP socket, and a wrong variable, is refused with its reason")
  func refused() async {
    await #expect(processExitsWith: .exitCode(17)) {
      func fault(_ count: String, _ names: String) -> InheritedSocketFault? {
        announce(count: count, names: names)
        do throws(InheritedSocketFault) {
          _ = try InheritedSockets.take(from: first)
          return nil
        } catch {
          return error
        }
      }
      close(first)
      guard fault("1", "http") == .notListening(number: first, name: "http") else { exit(1) }
      try place(try Sockets.listen(path: "/tmp/chirrup-inherited-\(Random.uint64())"), at: first)
      guard fault("1", "http") == .notListening(number: first, name: "http") else { exit(2) }
      let listener = try Sockets.listen(on: .loopback, port: 0)
      try place(try Sockets.connect(to: .loopback, port: try listener.localPort()), at: first)
      guard fault("1", "http") == .notListening(number: first, name: "http") else { exit(3) }
      guard fault("2", "http") == .names(expected: 2, actual: 1) else { exit(4) }
      guard fault("49", "http") == .tooMany(49) else { exit(5) }
      guard fault("-1", "") == .variable(name: "LISTEN_FDS", value: "-1") else { exit(6) }
      exit(17)
    }
  }
}

/// Moves a socket to a fixed descriptor without close-on-exec, as a service manager does, and
/// returns its port.
@discardableResult
private func place(_ socket: consuming FileDescriptor, at number: Int32) throws -> UInt16 {
  let port = try socket.localPort()
  let own = socket.release()
  dup2(own, number)
  close(own)
  return port
}

private func announce(count: String, names: String, process: String = "\(getpid())") {
  for (name, value) in [("LISTEN_PID", process), ("LISTEN_FDS", count), ("LISTEN_FDNAMES", names)] {
    // SAFETY: the texts are copied for the call.
    unsafe _ = setenv(name, value, 1)
  }
}

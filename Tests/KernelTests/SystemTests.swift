import Glibc
import Kernel
import Primitives
import Testing

@Suite struct SystemTests {
  @Test("the monotonic clock does not go back, and the wall clock is in this century")
  func clocks() {
    var last = SystemClock.now()
    for _ in 0..<1_000 {
      let now = SystemClock.now()
      #expect(now >= last)
      last = now
    }
    #expect(SystemClock.wallTime().description.hasPrefix("20"))
    #expect(SystemClock.threadTimeNanoseconds() > 0)
  }

  @Test("random bytes have the requested number and differ each time")
  func random() {
    #expect(Random.bytes(0).isEmpty)
    #expect(Random.bytes(1_000).count == 1_000)
    #expect(Set(Random.bytes(1_000)).count > 200)
    #expect(Set((0..<100).map { _ in Random.uint64() }).count == 100)
  }

  @Test("descriptors without FD_CLOEXEC are closed in started programs, and stay open here")
  func closeOnExec() throws {
    let number = dup(2)
    let descriptor = FileDescriptor(owning: number)
    #expect(fcntl(descriptor.rawValue, F_GETFD) == 0)
    try Descriptors.closeOnExec()
    #expect(fcntl(descriptor.rawValue, F_GETFD) == FD_CLOEXEC)
    #expect(fcntl(2, F_GETFD) == 0)
  }

  @Test("environment variables with a prefix are removed, others stay")
  func environment() async {
    await #expect(processExitsWith: .exitCode(17)) {
      for name in ["PGPORT", "PGSERVICE", "PGX", "XPG"] { SystemTests.set(name) }
      Environment.remove(prefix: "PG")
      for name in ["PGPORT", "PGSERVICE", "PGX"] where SystemTests.isSet(name) { exitNow(1) }
      exitNow(SystemTests.isSet("XPG") ? 17 : 2)
    }
  }

  private static func set(_ name: String) {
    // SAFETY: the texts are copied into C strings for the call.
    unsafe _ = setenv(name, "1=2", 1)
  }

  private static func isSet(_ name: String) -> Bool {
    // SAFETY: the text is copied into a C string for the call.
    unsafe getenv(name) != nil
  }

  @Test("an error number has a name and a description")
  func errors() {
    #expect(Errno.connectionReset.name == "ECONNRESET")
    #expect(Errno.connectionReset.description == "Connection reset by peer (ECONNRESET)")
    #expect(Errno(rawValue: 9_999).name == "E9999")
  }

  @Test("a signal to the process is read from the descriptor instead of ending it")
  func signals() async {
    // In a separate process, because a mistake would end it.
    await #expect(processExitsWith: .exitCode(17)) {
      let signals = try SignalDescriptor([.terminate, .hangUp])
      guard signals.next() == nil else { exitNow(1) }
      // Sent to this thread, because the test runner's other threads do not block it.
      raise(SIGTERM)
      let epoll = try Epoll()
      try epoll.add(rawValue: signals.rawValue, .read, datum: 1)
      var events = Events(capacity: 1)
      try epoll.wait(into: &events, timeoutMilliseconds: 60_000)
      exitNow(signals.next() == .terminate ? 17 : 2)
    }
  }

  @Test("work that takes long sees that the process is to end, and no signal is lost")
  func pendingEnd() async {
    await #expect(processExitsWith: .exitCode(17)) {
      let signals = try SignalInbox([.terminate, .hangUp])
      raise(SIGHUP)
      guard !signals.hasEnd(), signals.hasKept else { exitNow(1) }
      raise(SIGTERM)
      guard signals.hasEnd(), signals.hasEnd() else { exitNow(2) }
      guard signals.next() == .hangUp, signals.next() == .terminate else { exitNow(3) }
      exitNow(signals.next() == nil && !signals.hasKept && !signals.hasEnd() ? 17 : 4)
    }
  }

  @Test("without descriptors accept reports exhaustion, and works again when one is free (N02)")
  func exhausted() async {
    await #expect(processExitsWith: .exitCode(17)) {
      DescriptorLimit.raise()
      let listener = try Sockets.listen(on: .loopback, port: 0)
      let client = try Sockets.connect(to: .loopback, port: try listener.localPort())
      var spares: [Int32] = []
      try DescriptorLimit.lower(to: 64)
      while case let spare = dup(1), spare >= 0 { spares.append(spare) }
      guard case .exhausted = listener.accept() else { exitNow(1) }
      guard let spare = spares.popLast() else { exitNow(2) }
      close(spare)
      guard case .accepted = listener.accept() else { exitNow(3) }
      exitNow(client.rawValue > 0 ? 17 : 4)
    }
  }
}

private func exitNow(_ code: Int32) -> Never { exit(code) }

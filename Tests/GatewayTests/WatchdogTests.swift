/// Stalled loops: their log lines, and the end of the process when the loops do not respond.
import Kernel
import Logging
import Postgres
import Primitives
import REST
import Synchronization
import Testing

@testable import Gateway

@Suite struct LoopWatchTests {
  private func instant(_ seconds: Int64) -> Instant {
    Instant(nanoseconds: (1_000 + seconds) * 1_000_000_000)
  }

  private func watch() -> LoopWatch {
    LoopWatch(stallMilliseconds: 10_000, checkMilliseconds: 2_000)
  }

  @Test("a loop without a new turn for 10 s is reported once, and again when it resumes")
  func stalled() {
    var watch = watch()
    #expect(watch.check(turn: 1, now: instant(0)) == nil)
    for seconds in stride(from: Int64(2), through: 8, by: 2) {
      #expect(watch.check(turn: 1, now: instant(seconds)) == nil)
    }
    #expect(!watch.isStalled)
    #expect(watch.check(turn: 1, now: instant(10)) == .stalled(milliseconds: 10_000))
    #expect(watch.isStalled)
    for seconds in stride(from: Int64(12), through: 30, by: 2) {
      #expect(watch.check(turn: 1, now: instant(seconds)) == nil)
    }
    #expect(watch.check(turn: 2, now: instant(32)) == .resumed(milliseconds: 30_000))
    #expect(!watch.isStalled)
    #expect(watch.check(turn: 2, now: instant(34)) == nil)
    for seconds in stride(from: Int64(36), through: 40, by: 2) {
      #expect(watch.check(turn: 2, now: instant(seconds)) == nil)
    }
    #expect(watch.check(turn: 2, now: instant(42)) == .stalled(milliseconds: 10_000))
  }

  @Test("a loop that begins a turn between two checks is never reported")
  func turning() {
    var watch = watch()
    for turn in Int64(0)..<100 { #expect(watch.check(turn: turn, now: instant(2 * turn)) == nil) }
  }

  @Test("if the whole process was stopped for a minute, no loop is reported")
  func stopped() {
    var watch = watch()
    #expect(watch.check(turn: 7, now: instant(0)) == nil)
    #expect(watch.check(turn: 7, now: instant(60)) == nil)
    #expect(watch.check(turn: 8, now: instant(62)) == nil)
  }
}

/// Stalls a loop until the gate is opened.
private final class Gate: Sendable {
  private let isOpen = Atomic(false)
  private let isHeld = Atomic(false)

  /// Returns when the loop is stalled.
  func hold(_ gateway: RunningGateway, loop: Int, as activity: Activity) async throws {
    let executor = gateway.context.executors[loop]
    let pulse = gateway.context.pulses[loop]
    Task(executorPreference: executor) {
      pulse.note(activity)
      self.isHeld.store(true, ordering: .releasing)
      while !self.isOpen.load(ordering: .acquiring) {}
    }
    while !isHeld.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(2)) }
  }

  func open() { isOpen.store(true, ordering: .releasing) }
}

@Suite("The watchdog and stalled loops of a running gateway", .serialized) struct WatchdogTests {
  private func watchdog(
    _ gateway: RunningGateway, _ book: LogBook, exit: @escaping @Sendable () -> Void = {}
  ) throws -> Watchdog {
    try Watchdog(
      gateway.context.pulses, book.logger,
      limits: Watchdog.Limits(stallMilliseconds: 1_500, checkMilliseconds: 100), exit: exit)
  }

  @Test("a stalled loop is logged with its activity, and again when it resumes")
  func named() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let (book, gate) = (LogBook(), Gate())
    defer { gate.open() }
    let watchdog = try watchdog(gateway, book)
    let thread = try Thread.spawn(name: "watchdog") { try? watchdog.run() }
    try await gate.hold(gateway, loop: 1, as: .route(0))
    let line = try await book.first(with: "has been stalled")
    #expect(line == "a loop has been stalled for 1 s doing=\(Activity.route(0)) loop=1")
    #expect(line.contains("/api/v1/"))
    gate.open()
    #expect(try await book.first(with: "resumed after").hasSuffix("loop=1"))
    watchdog.stop()
    thread.join()
    #expect(book.lines(with: "loop=1").count == 2)
    // Both loops are alive.
    #expect(gateway.context.metrics.readiness().isReady)
  }

  @Test("an armed watchdog ends the process at its deadline and logs the activity of each loop")
  func ends() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let (book, gate) = (LogBook(), Gate())
    defer { gate.open() }
    let watchdog = try watchdog(gateway, book) { book.add("exit") }
    let thread = try Thread.spawn(name: "watchdog") { try? watchdog.run() }
    try await gate.hold(gateway, loop: 0, as: .metrics)
    #expect(book.lines(with: "exit").isEmpty)
    watchdog.arm(at: SystemClock.now().advanced(byMilliseconds: 50))
    let line = try await book.first(with: "ending it now")
    #expect(line.hasSuffix("loop-0=GET /metrics"))
    thread.join()
    #expect(book.lines(with: "exit").count == 1)
  }

  @Test("the activity of a REST handler is its route, also after a query")
  func route() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let context = gateway.context
    let seen = Mutex<[String]>([])
    await Task(executorPreference: context.executors[0]) {
      await API.$currentRoute.withValue(3) {
        let services = LoopServices(
          mailboxes: context.mailboxes, pulses: context.pulses, readers: context.readers)
        _ = try? await services.run(Query("SELECT 1", []))
        seen.withLock { $0.append("\(context.pulses[0].read().activity)") }
      }
    }.value
    #expect(seen.withLock { $0 } == [API.routeName(3)])
  }
}

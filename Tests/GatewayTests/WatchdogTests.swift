import Kernel
import Logging
import Postgres
import Primitives
/// Loops that do not turn: when they are named, with what, and that the process ends without them.
import REST
import Synchronization
import Testing

@testable import Gateway

@Suite struct LoopWatchTests {
  private func instant(_ seconds: Int64) -> Instant {
    Instant(nanoseconds: (1_000 + seconds) * 1_000_000_000)
  }

  private func watch() -> LoopWatch { LoopWatch(heldMilliseconds: 10_000, lookMilliseconds: 2_000) }

  @Test("a loop without a new turn for 10 s is named once, and once more when it turns again")
  func held() {
    var watch = watch()
    #expect(watch.look(turn: 1, now: instant(0)) == nil)
    for seconds in stride(from: Int64(2), through: 8, by: 2) {
      #expect(watch.look(turn: 1, now: instant(seconds)) == nil)
    }
    #expect(watch.look(turn: 1, now: instant(10)) == .stalled(milliseconds: 10_000))
    for seconds in stride(from: Int64(12), through: 30, by: 2) {
      #expect(watch.look(turn: 1, now: instant(seconds)) == nil)
    }
    #expect(watch.look(turn: 2, now: instant(32)) == .resumed(milliseconds: 30_000))
    #expect(watch.look(turn: 2, now: instant(34)) == nil)
    // And anew.
    for seconds in stride(from: Int64(36), through: 40, by: 2) {
      #expect(watch.look(turn: 2, now: instant(seconds)) == nil)
    }
    #expect(watch.look(turn: 2, now: instant(42)) == .stalled(milliseconds: 10_000))
  }

  @Test("a loop that turns between two looks is never named")
  func turning() {
    var watch = watch()
    for turn in Int64(0)..<100 { #expect(watch.look(turn: turn, now: instant(2 * turn)) == nil) }
  }

  @Test("where the whole process stood still for a minute, no loop is named")
  func stopped() {
    var watch = watch()
    #expect(watch.look(turn: 7, now: instant(0)) == nil)
    #expect(watch.look(turn: 7, now: instant(60)) == nil)
    #expect(watch.look(turn: 8, now: instant(62)) == nil)
  }
}

/// What is logged, with its metadata.
private final class LogBook: Sendable {
  private let kept = Mutex<[String]>([])

  func add(_ line: String) { kept.withLock { $0.append(line) } }
  func lines(with text: String) -> [String] { kept.withLock { $0.filter { $0.contains(text) } } }

  func first(with text: String) async throws -> String {
    while true {
      if let line = lines(with: text).first { return line }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}

private struct BookHandler: LogHandler {
  let book: LogBook
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }
    book.add(fields.reduce("\(event.message)") { "\($0) \($1.key)=\($1.value)" })
  }
}

/// Holds a loop until it is opened.
private final class Gate: Sendable {
  private let isOpen = Atomic(false)
  private let isHeld = Atomic(false)

  /// Returns when the loop is held.
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

@Suite("The watchdog and loops that are really held", .serialized, .timeLimit(.minutes(2)))
struct WatchdogTests {
  private func watchdog(
    _ gateway: RunningGateway, _ book: LogBook, exit: @escaping @Sendable () -> Void = {}
  ) throws -> Watchdog {
    try Watchdog(
      gateway.context.pulses, Logger(label: "test") { _ in BookHandler(book: book) },
      limits: Watchdog.Limits(heldMilliseconds: 1_500, lookMilliseconds: 100), exit: exit)
  }

  @Test("a held loop is named with what it does, the other is not, and it is told when it turns")
  func named() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let (book, gate) = (LogBook(), Gate())
    defer { gate.open() }
    let watchdog = try watchdog(gateway, book)
    let thread = try Thread.spawn(name: "watchdog") { try? watchdog.run() }
    try await gate.hold(gateway, loop: 1, as: .route(0))
    let line = try await book.first(with: "has not turned")
    #expect(line == "a loop has not turned for 1 s doing=\(Activity.route(0)) loop=1")
    #expect(line.contains("/api/v1/"))
    gate.open()
    #expect(try await book.first(with: "turns again").hasSuffix("loop=1"))
    watchdog.stop()
    thread.join()
    #expect(book.lines(with: "loop=1").count == 2)
    // Both are alive: the held one has gone on where it was.
    #expect(gateway.context.metrics.readiness().isReady)
  }

  @Test("an armed watchdog ends the process at its deadline, and says what the loops do")
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
    let line = try await book.first(with: "is ended")
    #expect(line.hasSuffix("loop-0=GET /metrics"))
    thread.join()
    #expect(book.lines(with: "exit").count == 1)
  }

  @Test("a REST handler is named by its route, also after it has waited for the database")
  func route() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let context = gateway.context
    let seen = Mutex<[String]>([])
    await Task(executorPreference: context.executors[0]) {
      await API.$currentRoute.withValue(3) {
        let services = LoopServices(
          mailboxes: context.mailboxes, pulses: context.pulses)
        _ = try? await services.run(Query("SELECT 1", []))
        seen.withLock { $0.append("\(context.pulses[0].read().activity)") }
      }
    }.value
    #expect(seen.withLock { $0 } == [API.routeName(3)])
  }
}

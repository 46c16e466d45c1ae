/// A thread that sends what an outbox has: webhooks, push messages, e-mail, messages of channels.
/// Waiting for PostgreSQL and for other servers must not block an event loop.
public import Kernel
import Primitives
import Synchronization

/// The state of a worker's thread: what is taken from the outbox, sent and recorded.
public protocol OutboxLoop: ~Copyable {
  associatedtype Options: Sendable
  associatedtype Metrics: OutboxMetrics

  /// Nil: there is nothing to send with.
  init?(_ options: Options)

  var metrics: Metrics { get }
  /// Whether anything is under way, or not recorded yet.
  var isBusy: Bool { get }

  mutating func use(_ options: Options)

  /// Runs one turn, and waits until the next one, or until `wakeDescriptor` is readable.
  ///
  /// - Parameter goesOn: false once the worker stops and its grace is over; for loops that send
  ///   within the turn.
  mutating func runOnce(wakeDescriptor: Int32, goesOn: () -> Bool)

  /// Continues what is under way, without taking anything new. Waits a short time at most.
  mutating func finish()

  /// Gives back what is still under way, so that another node can take it at once.
  mutating func release()
}

/// The metrics of a node since its start, for `/metrics`.
public protocol OutboxMetrics: Sendable {
  init()
}

public final class OutboxWorker<Loop: OutboxLoop & ~Copyable>: Sendable {
  /// How long what is under way may continue after `stop`.
  private let graceMilliseconds: Int64 = 2_000

  private let options: Mutex<Loop.Options>
  private let isStopping = Atomic(false)
  /// Wakes the thread at `stop`; otherwise it sleeps from one look into the outbox to the next.
  private let stopEvent: EventCounter
  private let isDone = Atomic(false)
  private let posted = Mutex(Loop.Metrics())

  public init(_ options: Loop.Options) throws(Errno) {
    self.options = Mutex(options)
    stopEvent = try EventCounter()
  }

  public var metrics: Loop.Metrics { posted.withLock { $0 } }

  public var hasEnded: Bool { isDone.load(ordering: .acquiring) }

  /// Changes the options. The thread takes them over with its next turn.
  public func change(_ body: (inout Loop.Options) -> Void) {
    options.withLock { body(&$0) }
  }

  /// Takes nothing more from the outbox; what is under way may finish.
  public func stop() {
    isStopping.store(true, ordering: .releasing)
    stopEvent.signal()
  }

  /// Runs the worker. Returns after `stop`, within the grace and the time of one statement; at once
  /// if there is nothing to send with.
  public func run() {
    defer { isDone.store(true, ordering: .releasing) }
    guard var loop = Loop(options.withLock { $0 }) else { return }
    var limit = Instant.never
    while !isStopping.load(ordering: .acquiring) {
      loop.use(options.withLock { $0 })
      loop.runOnce(wakeDescriptor: stopEvent.rawValue) { self.goesOn(&limit) }
      let metrics = loop.metrics
      posted.withLock { $0 = metrics }
    }
    while loop.isBusy, goesOn(&limit) { loop.finish() }
    loop.release()
  }

  /// Whether work may continue, which begins the grace once the worker stops.
  private func goesOn(_ limit: inout Instant) -> Bool {
    guard isStopping.load(ordering: .acquiring) else { return true }
    if limit == .never { limit = SystemClock.now().advanced(byMilliseconds: graceMilliseconds) }
    return SystemClock.now() < limit
  }
}

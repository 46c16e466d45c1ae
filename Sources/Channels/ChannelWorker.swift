/// Sends messages to people on channels and fetches their profiles, on a thread of its own: waiting
/// for PostgreSQL and for platforms must not block an event loop.
public import Directory
public import Kernel
public import Primitives
import Synchronization
public import Webhooks

public struct ChannelOptions: Sendable {
  public var databaseURL: String
  public var secrets: SecretBox
  /// The URL of each channel's platform, without a slash at its end.
  public var platforms: [String: String]
  /// The URL of each where it takes pictures; a channel without one has the same as above.
  public var dataPlatforms: [String: String]
  /// Restricts the addresses of pictures, which members choose.
  public var addressGuard: AddressGuard
  /// Where people reach the gateway, for links to files. Nil: files are not sent.
  public var publicURL: String?
  /// The time limit of one attempt.
  public var timeoutMilliseconds: Int
  /// Called when what operators see of a conversation has changed.
  public var onChange: @Sendable (_ session: Identifier, _ workspace: Identifier) -> Void
  /// Receives log lines for the administrator, without addresses and contents.
  public var report: @Sendable (String) -> Void

  public init(
    databaseURL: String, secrets: SecretBox, platforms: [String: String],
    dataPlatforms: [String: String], publicURL: String?, addressGuard: AddressGuard,
    timeoutMilliseconds: Int,
    onChange: @escaping @Sendable (_ session: Identifier, _ workspace: Identifier) -> Void,
    report: @escaping @Sendable (String) -> Void
  ) {
    self.databaseURL = databaseURL
    self.secrets = secrets
    self.platforms = platforms
    self.dataPlatforms = dataPlatforms
    self.addressGuard = addressGuard
    self.publicURL = publicURL
    self.timeoutMilliseconds = timeoutMilliseconds
    self.onChange = onChange
    self.report = report
  }
}

/// The channel metrics of a node since its start, for `/metrics`.
public struct ChannelMetrics: Sendable, Equatable {
  /// Messages that platforms have accepted.
  public var sent: UInt64 = 0
  /// Failed attempts, including those that are repeated.
  public var attemptsFailed: UInt64 = 0
  /// Messages that have failed for good.
  public var failed: UInt64 = 0
  /// Conversations of the whole database in which a message waits, at the last count.
  public var waiting = 0
  /// The time since the oldest of their first attempts, in seconds, at the last count.
  public var oldestWaitingSeconds: Int64 = 0

  public init() {}
}

public final class ChannelWorker: Sendable {
  /// How long requests in flight may continue after `stop`.
  static let graceMilliseconds: Int64 = 2_000

  private let options: Mutex<ChannelOptions>
  private let isStopping = Atomic(false)
  /// Wakes the thread at `stop`.
  private let stopEvent: EventCounter
  private let isDone = Atomic(false)
  private let posted = Mutex(ChannelMetrics())

  public init(_ options: ChannelOptions) throws(Errno) {
    self.options = Mutex(options)
    stopEvent = try EventCounter()
  }

  public var metrics: ChannelMetrics { posted.withLock { $0 } }

  public var hasEnded: Bool { isDone.load(ordering: .acquiring) }

  /// Changes the address of PostgreSQL and the time limit of the next attempts.
  public func use(databaseURL: String, timeoutMilliseconds: Int) {
    options.withLock { options in
      options.databaseURL = databaseURL
      options.timeoutMilliseconds = timeoutMilliseconds
    }
  }

  /// Takes no more messages; requests in flight may finish.
  public func stop() {
    isStopping.store(true, ordering: .releasing)
    stopEvent.signal()
  }

  /// Runs the worker. Returns after `stop`, within `graceMilliseconds` and the time of one
  /// statement.
  public func run() {
    var loop = ChannelLoop(options.withLock { $0 })
    while !isStopping.load(ordering: .acquiring) {
      loop.use(options.withLock { $0 })
      loop.runOnce(wakeDescriptor: stopEvent.rawValue)
      let metrics = loop.metrics
      posted.withLock { $0 = metrics }
    }
    let limit = SystemClock.now().advanced(byMilliseconds: ChannelWorker.graceMilliseconds)
    while loop.isBusy, SystemClock.now() < limit { loop.advance(wakeDescriptor: nil) }
    loop.release()
    isDone.store(true, ordering: .releasing)
  }
}

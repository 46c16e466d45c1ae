/// The connection to PostgreSQL of a thread that sends what an outbox has: it connects again with
/// growing pauses, and reports a refused statement once.
import Kernel
public import Postgres
public import Primitives

public struct OutboxConnection: ~Copyable {
  /// For the log: whose statements these are.
  private let name: String
  private let report: @Sendable (String) -> Void
  /// Whether a commit waits for the disk.
  private let isDurable: Bool
  private var url: String
  private var connection: BlockingConnection?
  private var backoff: Backoff
  private var nextConnect = Instant.zero
  /// The last one that was reported.
  private var refusal: String?

  /// - Parameter isDurable: whether no outcome may be lost in a crash of PostgreSQL.
  public init(
    _ name: String, url: String, isDurable: Bool = false,
    report: @escaping @Sendable (String) -> Void
  ) {
    self.isDurable = isDurable
    self.name = name
    self.url = url
    self.report = report
    backoff = Backoff(
      firstMilliseconds: 250, lastMilliseconds: 10_000, seed: Random.uint64())
  }

  public var isOpen: Bool { connection != nil }

  /// When to call `open` again; `never` while it is open.
  public var nextAttempt: Instant { isOpen ? .never : nextConnect }

  /// Changes the address of PostgreSQL.
  public mutating func use(url: String) {
    guard url != self.url else { return }
    self.url = url
    connection = nil
    nextConnect = .zero
    backoff.reset()
  }

  /// Connects, unless it is connected or has failed a short time ago.
  public mutating func open(_ now: Instant) {
    guard connection == nil, now >= nextConnect else { return }
    do throws(QueryFailure) {
      let made = try BlockingConnection(url)
      // Delivery is at least once, so an outcome may be lost in a crash of PostgreSQL: the event is
      // sent again with the same id. synchronous_commit = off therefore saves a wait for the disk,
      // unless a repetition is a nuisance.
      // Behind a pooler other clients share the session, so it keeps its settings.
      if try !made.isPooled() { try made.run(OutboxConnection.settings(isDurable)) }
      connection = made
    } catch {
      nextConnect = backoff.next(after: now)
    }
  }

  private static func settings(_ isDurable: Bool) -> Query {
    Query(
      """
      SELECT CASE WHEN NOT $1::boolean THEN set_config('synchronous_commit', 'off', false) END,
        set_config('statement_timeout', '10000', false),
        set_config('idle_in_transaction_session_timeout', '10000', false),
        set_config('jit', 'off', false)
      """, [.bool(isDurable)])
  }

  /// The rows of a query; nil without a connection, or after an error, which closes it.
  public mutating func run(_ query: Query) -> Rows? {
    attempt { try $0.run(query) }
  }

  /// The result of a transaction; nil as that of `run`.
  public mutating func transaction<Result>(
    _ work: (BlockingConnection) throws -> Result
  ) -> Result? {
    attempt { try $0.transaction(work) }
  }

  private mutating func attempt<Result>(_ work: (BlockingConnection) throws -> Result) -> Result? {
    guard let connection else { return nil }
    do {
      let result = try work(connection)
      backoff.reset()
      refusal = nil
      return result
    } catch let failure as QueryFailure {
      lose(failure)
    } catch {
      lose(.unavailable(reason: "\(error)"))
    }
    return nil
  }

  /// Reports a refusal once until a statement succeeds. A state of the server that passes is no
  /// bug, and the loops log why PostgreSQL cannot be used.
  private mutating func lose(_ failure: QueryFailure) {
    if case .refused(let state, let message) = failure, !state.isTransient {
      let reason = "\(state.code) \(message)"
      if reason != refusal { report("\(name): PostgreSQL refused a statement: \(reason)") }
      refusal = reason
    }
    connection = nil
    nextConnect = backoff.next(after: SystemClock.now())
  }
}

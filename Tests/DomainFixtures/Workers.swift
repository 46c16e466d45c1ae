/// Real connections: statements run on threads of their own, several at a time, as they do beside
/// the gateway's loops. The tests' own tasks never wait in libpq.
public import Directory
import EmbeddedPostgres
import Fixtures
import Foundation
import Migrator
public import Postgres

extension Workers {
  /// The migrated database of this process, on the server that its suites share. The connections
  /// are those of a gateway, whose user owns nothing.
  public static let shared = Result<Workers, any Error> {
    let server = try ScratchCluster.url()
    try Roles.prepared.get()
    let name = "domain_\(getpid())"
    try BlockingConnection(server).execute(script: "CREATE DATABASE \(name)")
    let url = server.replacing("/chirrup?", with: "/\(name)?")
    try Migrator(BlockingConnection(url)).up()
    return try Workers(url: Roles.gateway(url), owner: url, count: 6)
  }

  /// A migrated database of its own, without any operator.
  public static func fresh() throws -> Workers {
    let empty = try EmptyDatabase()
    try Migrator(BlockingConnection(empty.url)).up()
    return try Workers(url: Roles.gateway(empty.url), owner: empty.url, count: 4)
  }

  public func ask<Answer>(_ statement: Directory.Statement<Answer>) async throws -> Answer {
    statement.answer(try await run(statement.query))
  }
}

// SAFETY: `jobs` is touched only while `condition` is locked; each connection stays on its own
// thread.
public final class Workers: Database, @unchecked Sendable {
  private typealias Job = @Sendable (BlockingConnection) -> Void

  private let condition = NSCondition()
  private var jobs: [Job] = []

  private let owner: String

  /// - Throws: if a connection fails. A thread that connected for itself could only end, and the
  ///   callers would wait without an end.
  init(url: String, owner: String, count: Int) throws {
    self.owner = owner
    for _ in 0..<count {
      nonisolated(unsafe) let connection = try BlockingConnection(url)
      Thread.detachNewThread { [self] in
        // SAFETY: only this thread uses the connection.
        while true { unsafe next()(connection) }
      }
    }
  }

  private func next() -> Job {
    condition.withLock {
      while jobs.isEmpty { condition.wait() }
      return jobs.removeFirst()
    }
  }

  public func perform<Answer: Sendable>(
    _ body: @escaping @Sendable (BlockingConnection) -> Answer
  ) async -> Answer {
    await withCheckedContinuation { continuation in
      condition.withLock {
        jobs.append { continuation.resume(returning: body($0)) }
        condition.signal()
      }
    }
  }

  /// A connection for transactions of a test, or statements that the gateway's role may not run.
  public func connectAsOwner() throws -> BlockingConnection { try BlockingConnection(owner) }

  /// Runs a statement of a test that the gateway's role may not run.
  @discardableResult
  public func asOwner(_ query: Query) throws -> Rows { try connectAsOwner().run(query) }

  public struct Unchanged: Error { public let query: Query }

  /// Waits until a statement of the owner has a row, or until it has none. The wait sleeps, since
  /// the other tasks need the threads.
  ///
  /// - Throws: `Unchanged` after five minutes, or more beside other work.
  public func wait(until query: Query, isEmpty: Bool = false) async throws {
    for _ in 0..<30_000 {
      if try asOwner(query).isEmpty == isEmpty { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw Unchanged(query: query)
  }

  public func run(_ query: Query) async throws(QueryFailure) -> Rows {
    let result = await perform { connection -> Result<Rows, QueryFailure> in
      do throws(QueryFailure) {
        return .success(try connection.run(query))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

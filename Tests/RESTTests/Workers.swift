import Directory
import Foundation
import Postgres
/// Real connections for the API under test: statements run on threads of their own, several at a
/// time, as they do beside the gateway's loops. The tests' own tasks never wait in libpq.
import REST

// SAFETY: `jobs` is touched only while `condition` is locked; each connection stays on its own
// thread.
final class Workers: Database, @unchecked Sendable {
  typealias Job = @Sendable (BlockingConnection) -> Void

  private let condition = NSCondition()
  private var jobs: [Job] = []

  init(url: String, count: Int) {
    for _ in 0..<count {
      Thread.detachNewThread { [self] in
        guard let connection = try? BlockingConnection(url) else { return }
        while true { next()(connection) }
      }
    }
  }

  private func next() -> Job {
    condition.withLock {
      while jobs.isEmpty { condition.wait() }
      return jobs.removeFirst()
    }
  }

  func perform<Answer: Sendable>(
    _ body: @escaping @Sendable (BlockingConnection) -> Answer
  ) async -> Answer {
    await withCheckedContinuation { continuation in
      condition.withLock {
        jobs.append { continuation.resume(returning: body($0)) }
        condition.signal()
      }
    }
  }

  func run(_ query: Query) async throws(QueryFailure) -> Rows {
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

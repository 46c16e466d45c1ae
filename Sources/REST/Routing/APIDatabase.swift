/// The database of the handlers: a failure of a statement is thrown as the problem that the client
/// receives, and a failure of ours is reported to the log.
import Directory
import Postgres

struct APIDatabase: Sendable {
  private let database: any Database
  private let report: @Sendable (String) -> Void

  init(_ database: any Database, report: @escaping @Sendable (String) -> Void) {
    self.database = database
    self.report = report
  }

  func run<Answer>(_ statement: Statement<Answer>) async throws(Problem) -> Answer {
    do throws(QueryFailure) {
      return try await database.run(statement)
    } catch {
      throw problem(for: error)
    }
  }

  func rows(_ query: Query) async throws(Problem) -> Rows {
    try await run(Statement(query) { $0 })
  }

  /// For statements that PostgreSQL may refuse for a reason that the caller knows.
  func attempt<Answer>(_ statement: Statement<Answer>) async throws(QueryFailure) -> Answer {
    try await database.run(statement)
  }

  func problem(for failure: QueryFailure) -> Problem {
    let problem = Problem.database(failure)
    if case .refused(let state, let message) = failure, problem.status == 500 {
      report("the database refused a statement: \(state.code) \(message)")
    }
    return problem
  }
}

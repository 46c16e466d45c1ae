public import Postgres
public import Primitives

/// A query together with the decoding of its result, so that columns and their use stand side by
/// side. The command line runs it on a blocking connection, the API on the gateway's loops.
///
/// Each statement is a transaction of its own. Every parameter is cast in the text, so that a null
/// (which has no type) and a value share one prepared statement.
public struct Statement<Answer>: Sendable {
  public let query: Query
  public let answer: @Sendable (Rows) -> Answer

  public init(_ query: Query, answer: @escaping @Sendable (Rows) -> Answer) {
    self.query = query
    self.answer = answer
  }
}

extension Statement {
  /// Restricts the statement to one workspace by row security, in addition to its own conditions.
  public func scoped(to workspace: Identifier, user: Identifier? = nil) -> Statement {
    Statement(query.scoped(to: workspace, user: user), answer: answer)
  }
}

extension Statement where Answer == Void {
  /// A statement without a result.
  public init(_ query: Query) {
    self.init(query) { _ in }
  }
}

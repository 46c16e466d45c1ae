public import Postgres
public import Primitives

/// A question to the database together with the reading of its answer, so that a column is named in
/// one place only. The command line runs it on a blocking connection, the API on the gateway's
/// loops.
///
/// Each statement is one transaction of its own. Every parameter is cast in the text, so that a
/// null (which has no type of its own) and a value are prepared alike.
public struct Statement<Answer>: Sendable {
  public let query: Query
  public let answer: @Sendable (Rows) -> Answer

  public init(_ query: Query, answer: @escaping @Sendable (Rows) -> Answer) {
    self.query = query
    self.answer = answer
  }
}

extension Statement {
  /// Bound to one workspace by row security too, not only by its own words.
  public func scoped(to workspace: Identifier, user: Identifier? = nil) -> Statement {
    Statement(query.scoped(to: workspace, user: user), answer: answer)
  }
}

extension Statement where Answer == Void {
  /// A statement of which only its success is of interest.
  public init(_ query: Query) {
    self.init(query) { _ in }
  }
}

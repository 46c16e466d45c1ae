/// PostgreSQL's five-character error code (manual, appendix A).
public struct SQLState: Hashable, Sendable {
  public var code: String

  public init(_ code: String) { self.code = code }

  /// The first two characters, the class of the error.
  public var errorClass: Substring { code.prefix(2) }

  /// Whether a retry can succeed: connection lost, resources, intervention of an administrator,
  /// conflict with another transaction, no primary any more.
  public var isTransient: Bool { ["08", "25", "40", "53", "55", "57"].contains(errorClass) }

  /// Whether the error is no bug of a statement: it is transient, or a value violates a type or
  /// constraint.
  public var isExpected: Bool { isTransient || ["22", "23"].contains(errorClass) }

  public static let uniqueViolation = SQLState("23505")
  public static let foreignKeyViolation = SQLState("23503")
  public static let readOnlyTransaction = SQLState("25006")
  /// `statement_timeout` has passed, or an administrator has cancelled the statement.
  public static let queryCanceled = SQLState("57014")
}

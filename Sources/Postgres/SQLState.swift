/// The five characters by which PostgreSQL names an error (manual, appendix A).
public struct SQLState: Hashable, Sendable {
  public var code: String

  public init(_ code: String) { self.code = code }

  /// The first two characters: the class of the error.
  public var errorClass: Substring { code.prefix(2) }

  /// What passes by itself: connection lost, resources, an operator's intervention, a conflict with
  /// another transaction, a node that is no primary any more.
  public var isTransient: Bool { ["08", "25", "40", "53", "55", "57"].contains(errorClass) }

  /// No mistake in a statement: it passes by itself, or the tables or types refuse a value.
  public var isExpected: Bool { isTransient || ["22", "23"].contains(errorClass) }

  public static let uniqueViolation = SQLState("23505")
  public static let foreignKeyViolation = SQLState("23503")
  public static let readOnlyTransaction = SQLState("25006")
}

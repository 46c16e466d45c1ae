/// The five characters by which PostgreSQL names an error (manual, appendix A).
public struct SQLState: Hashable, Sendable {
  public var code: String

  public init(_ code: String) { self.code = code }

  /// The first two characters: the class of the error.
  public var errorClass: Substring { code.prefix(2) }

  public static let uniqueViolation = SQLState("23505")
  public static let foreignKeyViolation = SQLState("23503")
  public static let readOnlyTransaction = SQLState("25006")
}

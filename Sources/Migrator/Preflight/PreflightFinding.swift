/// Something in a database that is about to be adopted: what is there, what Chirrup does about it,
/// and the statement that changes it.
public struct PreflightFinding: Sendable, Equatable, CustomStringConvertible {
  public var table: String
  /// The column, constraint, trigger, policy or role; empty for the table itself.
  public var object: String
  public var problem: String
  /// The number of rows that it concerns; of a definition, those of its table. Nil without a table.
  public var rows: Int64?
  /// One of these rows: its key, and its value in the column, of a text two characters only.
  public var example: String?
  /// The reaction of Chirrup: it refuses the database, or adopts it in the way described.
  public var action: String
  /// The SQL statement or command that removes the reason. A database can be adopted without it.
  public var remedy: String
  /// Whether `up` refuses the database because of it.
  public var isObstacle: Bool

  public var description: String {
    var text = object.isEmpty ? table : "\(table).\(object)"
    text += " \(problem)"
    if let rows { text += " (\(rows) \(rows == 1 ? "row" : "rows")" }
    if rows != nil { text += example.map { ", for example \($0))" } ?? ")" }
    text += "\n  \(isObstacle ? "refused" : "adopted"): \(action)"
    return text + "\n  \(isObstacle ? "fix" : "to avoid it"): \(remedy)"
  }
}

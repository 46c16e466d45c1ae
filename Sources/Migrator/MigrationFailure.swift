public import Postgres

/// Why migrations did not run. The description is what the operator reads.
public enum MigrationFailure: Error, Sendable, Equatable {
  case chain([ChainFault])
  case newerDatabase(unknown: [String])
  /// A revision was applied although one before it was not.
  case gap(applied: String, missing: String)
  case noSuchRevision(String)
  case statement(file: String, line: Int, statement: String, ServerRefusal)
  case unavailable(reason: String)
  case query(QueryFailure)
}

extension MigrationFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .chain(let faults):
      return "the migrations are not one line: " + faults.map(\.description).joined(separator: "; ")
    case .newerDatabase(let unknown):
      return "the database has migrations that this chirrup does not know: "
        + unknown.joined(separator: ", ")
        + ". It was migrated by a newer chirrup, or belongs to another project; nothing was changed"
    case .gap(let applied, let missing):
      return "\(applied) is recorded as applied, but \(missing), which comes before it, is not; "
        + "nothing was changed"
    case .noSuchRevision(let revision):
      return "there is no migration \(revision)"
    case .statement(let file, let line, let statement, let refusal):
      var text = "\(file):\(line): \(refusal)\n  in: \(statement)"
      if let context = refusal.context {
        text += "\n  at: " + context.split(separator: "\n").joined(separator: "\n      ")
      }
      return text + "\nThe migration was rolled back."
    case .unavailable(let reason):
      return "PostgreSQL is not available: \(reason)"
    case .query(let failure):
      return failure.description
    }
  }
}

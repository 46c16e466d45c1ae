public import Postgres

/// Why migrations did not run. The description is what the administrator reads: what, where, and
/// the line that mends it.
public enum MigrationFailure: Error, Sendable, Equatable {
  case chain([ChainFault])
  /// The database was migrated by a newer binary.
  case newerDatabase(unknown: [String])
  /// Revisions on record that are in no file and come from no newer binary either.
  case strayRevisions([String])
  /// A revision was applied although one before it was not.
  case gap(applied: String, missing: String)
  case noSuchRevision(String)
  /// What `stamp` would record is not what the database holds.
  case schemaDiffers(revision: String, [SchemaDifference])
  case statement(file: String, line: Int, statement: String, ServerRefusal)
  /// A statement of the migrator's own was refused.
  case refused(ServerRefusal)
  /// A pooler stands between: it lends a session for one transaction only.
  case pooled
  case unavailable(reason: String)
  case query(QueryFailure)

  var isLockConflict: Bool {
    switch self {
    case .statement(_, _, _, let refusal), .refused(let refusal):
      refusal.state.code == "55P03" || refusal.state.code == "40P01"
    default: false
    }
  }

  /// The line that mends it, where there is one.
  public var mend: String? {
    switch self {
    case .newerDatabase: "install the chirrup that migrated it, or a newer one"
    case .strayRevisions, .gap: "chirrup migrate repair"
    case .noSuchRevision: "chirrup migrate status"
    case .pooled:
      "set database_direct_url (CHIRRUP_DATABASE_DIRECT_URL) to the URL of PostgreSQL itself, or "
        + "run chirrup migrate up --database-url with it"
    case .schemaDiffers: "chirrup migrate up"
    case .statement(_, _, _, let refusal), .refused(let refusal): refusal.mend
    case .query(.refused(let state, _)): ServerRefusal(state: state, message: "").mend
    case .chain, .unavailable, .query: nil
    }
  }
}

extension MigrationFailure: CustomStringConvertible {
  public var description: String {
    mend.map { "\(what)\n  mend: \($0)" } ?? what
  }

  private var what: String {
    switch self {
    case .chain(let faults):
      return "the migrations are not one line: " + faults.map(\.description).joined(separator: "; ")
    case .newerDatabase(let unknown):
      return "the database has migrations that this chirrup does not know: "
        + unknown.joined(separator: ", ")
        + ". It was migrated by a newer chirrup; this one would not understand it, and has "
        + "changed nothing"
    case .strayRevisions(let revisions):
      return "the database records migrations that are in no file: "
        + revisions.joined(separator: ", ") + "; nothing was changed"
    case .gap(let applied, let missing):
      return "\(applied) is recorded as applied, but \(missing), which comes before it, is not; "
        + "nothing was changed"
    case .noSuchRevision(let revision):
      return "there is no migration \(revision)"
    case .schemaDiffers(let revision, let differences):
      return "the schema is not that of \(revision); nothing was recorded\n"
        + differences.map { "  \($0)" }.joined(separator: "\n")
    case .statement(let file, let line, let statement, let refusal):
      var text = "\(file):\(line): \(refusal.withoutHint)\n  in: \(statement)"
      if let context = refusal.context {
        text += "\n  at: " + context.split(separator: "\n").joined(separator: "\n      ")
      }
      return text + "\n  This step was rolled back."
    case .refused(let refusal):
      return "\(refusal.withoutHint)"
    case .pooled:
      return "the database is reached through a pooler (PgBouncer), where no lock outlives a "
        + "transaction, so migrations could run twice at once; nothing was changed"
    case .unavailable(let reason):
      return "PostgreSQL is not available: \(reason)"
    case .query(let failure):
      return failure.description
    }
  }
}

extension ServerRefusal {
  fileprivate var withoutHint: ServerRefusal {
    var refusal = self
    refusal.hint = nil
    return refusal
  }

  /// What to type: the server's own hint (our migrations give one), or what the SQLSTATE calls for.
  var mend: String? {
    if let hint { return hint }
    switch state.code {
    case "42501":
      return "run it as the owner of the table, or: GRANT CREATE ON SCHEMA public TO CURRENT_USER; "
        + "ALTER TABLE … OWNER TO … (as a superuser)"
    case "55P03", "40P01":
      return "end who holds the table: SELECT pid, state, query FROM pg_stat_activity WHERE pid IN "
        + "(SELECT pid FROM pg_locks WHERE granted AND relation = '…'::regclass); then run it again"
    case "23505":
      return "find the rows that are equal (SELECT …, count(*) … GROUP BY … HAVING count(*) > 1), "
        + "change one of each, then run it again"
    case "23502", "23503", "23514":
      return "change the rows that the detail names, then run it again"
    case "53100": return "make room on the disk of PostgreSQL, then run it again"
    case "25006": return "connect to the primary: this server is a standby"
    case "42P01": return "chirrup migrate repair"
    default: return nil
    }
  }
}

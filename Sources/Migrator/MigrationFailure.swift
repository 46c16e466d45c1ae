public import Postgres
public import SharedSQL

/// The error of a migration. Its description tells the administrator the problem, the place and the
/// remedy.
public enum MigrationFailure: Error, Sendable, Equatable {
  case chain([ChainFault])
  /// The database was migrated by a newer binary.
  ///
  /// - Parameter obstacle: why gateways of this binary cannot run on it; nil if that was not asked.
  case newerDatabase(unknown: [String], obstacle: String? = nil)
  /// Recorded revisions that have no file and do not come from a newer binary.
  case strayRevisions([String])
  /// A revision is recorded, but one before it is not.
  case gap(applied: String, missing: String)
  case noSuchRevision(String)
  /// The database has objects or rows that Chirrup cannot adopt without harm.
  case notAdoptable([PreflightFinding])
  /// Objects of the application refer to what `down` would take away.
  case isNeeded([PreflightFinding])
  /// The schema of the database is not that of the revision that `stamp` should record.
  case schemaDiffers(revision: String, [SchemaDifference])
  /// `down` would take away what these gateways need.
  case gatewaysRun([GatewayProcess])
  /// A contract would take away what these gateways of older releases need.
  case olderGatewaysRun(revision: String, [GatewayProcess])
  case statement(file: String, line: Int, statement: String, ServerRefusal)
  /// PostgreSQL refused one of the migrator's own statements.
  case refused(ServerRefusal)
  /// The connection goes through a pooler in transaction mode, where session locks do not work.
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

  /// The command or action that solves the problem; nil if there is no general one.
  public var remedy: String? {
    switch self {
    case .newerDatabase(_, nil): "install the chirrup that migrated it, or a newer one"
    case .newerDatabase:
      "install the chirrup that migrated it, or a newer one; or stop all gateways and revert "
        + "these migrations with it (chirrup migrate down)"
    case .strayRevisions, .gap: "chirrup migrate repair"
    case .noSuchRevision: "chirrup migrate status"
    case .notAdoptable, .isNeeded: "run the statements above, or as they say, then run it again"
    case .pooled:
      "set database_direct_url (CHIRRUP_DATABASE_DIRECT_URL) to the URL of PostgreSQL itself, or "
        + "run chirrup migrate up --database-url with it"
    case .schemaDiffers: "chirrup migrate up"
    case .olderGatewaysRun:
      "install this release on their machines, or stop them, then run it again. A gateway that "
        + "was killed counts for \(GatewayProcess.silenceSeconds) s"
    case .gatewaysRun:
      "stop them, then run it again. A gateway that was killed counts for "
        + "\(GatewayProcess.silenceSeconds) s"
    case .statement(_, _, _, let refusal), .refused(let refusal): refusal.remedy
    case .query(.refused(let state, _)): ServerRefusal(state: state, message: "").remedy
    case .chain, .unavailable, .query: nil
    }
  }
}

extension MigrationFailure: CustomStringConvertible {
  public var description: String {
    remedy.map { "\(problem)\n  fix: \($0)" } ?? problem
  }

  private var problem: String {
    switch self {
    case .chain(let faults):
      return "the migration files do not form one chain: "
        + faults.map(\.description).joined(separator: "; ")
    case .newerDatabase(let unknown, let obstacle):
      return "the database has migrations that this chirrup does not know: "
        + unknown.joined(separator: ", ") + ". It was migrated by a newer chirrup"
        + (obstacle.map { ", and \($0)" } ?? ", and only that one may migrate it")
        + "; nothing was changed"
    case .strayRevisions(let revisions):
      return "the database records migrations that have no file: "
        + revisions.joined(separator: ", ") + "; nothing was changed"
    case .gap(let applied, let missing):
      return "\(applied) is recorded as applied, but \(missing), which comes before it, is not; "
        + "nothing was changed"
    case .noSuchRevision(let revision):
      return "there is no migration \(revision)"
    case .notAdoptable(let findings):
      return "this database cannot be adopted as it is; nothing was changed\n"
        + findings.map { "  " + $0.description.replacing("\n", with: "\n  ") }
        .joined(separator: "\n")
    case .isNeeded(let findings):
      return "the application has made what needs Chirrup's tables and columns; nothing was "
        + "changed\n"
        + findings.map { "  " + $0.description.replacing("\n", with: "\n  ") }
        .joined(separator: "\n")
    case .schemaDiffers(let revision, let differences):
      return "the schema is not that of \(revision); nothing was recorded\n"
        + differences.map { "  \($0)" }.joined(separator: "\n")
    case .gatewaysRun(let gateways):
      return "gateways run on this database; nothing was changed\n"
        + gateways.map { "  \($0)" }.joined(separator: "\n")
    case .olderGatewaysRun(let revision, let gateways):
      return "\(revision) takes away what gateways of older releases need, and such gateways run "
        + "on this database; nothing was changed\n"
        + gateways.map { "  \($0)" }.joined(separator: "\n")
    case .statement(let file, let line, let statement, let refusal):
      var text = "\(file):\(line): \(refusal.withoutHint)\n  in: \(statement)"
      if let context = refusal.context {
        text += "\n  at: " + context.split(separator: "\n").joined(separator: "\n      ")
      }
      return text + "\n  This step was rolled back."
    case .refused(let refusal):
      return "\(refusal.withoutHint)"
    case .pooled:
      return "the connection goes through a pooler (PgBouncer), where no lock outlives a "
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

  /// The server's hint (Chirrup's migrations give one), or the usual remedy for the SQLSTATE.
  var remedy: String? {
    if let hint { return hint }
    switch state.code {
    case "42501":
      return "run it as the owner of the table, or: GRANT CREATE ON SCHEMA public TO CURRENT_USER; "
        + "ALTER TABLE … OWNER TO … (as a superuser)"
    case "55P03", "40P01":
      return "end the sessions that lock the table: SELECT pid, state, query FROM pg_stat_activity "
        + "WHERE pid IN (SELECT pid FROM pg_locks WHERE granted AND relation = '…'::regclass); "
        + "then run it again"
    case "23505":
      return "find the duplicate rows (SELECT …, count(*) … GROUP BY … HAVING count(*) > 1), "
        + "change one of each, then run it again"
    case "23502", "23503", "23514":
      return "change the rows that the detail names, then run it again"
    case "53100": return "free space on the disk of PostgreSQL, then run it again"
    case "25006":
      return "connect to the primary if this server is a standby (SELECT pg_is_in_recovery()), or: "
        + "ALTER DATABASE … SET default_transaction_read_only = off"
    case "42P01": return "chirrup migrate repair"
    default: return nil
    }
  }
}

/// Removes old entries of the audit log, by hand: see `AuditLog.prune`.
public import Directory
public import Migrator
public import Postgres
public import Primitives

extension StoredData {
  /// Whether the connection's user may delete entries.
  public func mayPruneAudit() throws(QueryFailure) -> Bool { try ask(AuditLog.mayPrune) }

  /// Counts the entries that are older than `days` days, by workspace. Changes nothing.
  public func prunableAudit(
    days: Int, workspace: Identifier?
  ) throws(QueryFailure) -> [AuditLog.Prunable] {
    try ask(AuditLog.prunable(days: days, workspace: workspace))
  }

  /// Deletes them in batches, each a transaction with an entry about itself.
  public func pruneAudit(
    days: Int, workspace: Identifier?, report: (MoveProgress) -> Void = { _ in }
  ) throws(QueryFailure) -> Int64 {
    let total = try prunableAudit(days: days, workspace: workspace).reduce(0) { $0 + $1.entries }
    var progress = MoveProgress(title: "audit entries removed", rowsTotal: total)
    let clock = ContinuousClock()
    let start = clock.now
    while true {
      let entries = try ask(
        AuditLog.prune(days: days, workspace: workspace, author: "command"))
      if entries == 0 { return progress.rowsDone }
      progress.rowsDone += entries
      progress.milliseconds = Int64((clock.now - start) / .milliseconds(1))
      report(progress)
    }
  }
}

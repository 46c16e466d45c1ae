/// Deletes conversations that are older than their retention period, by hand: see
/// `ExpiredConversations`.
public import Directory
public import Migrator
import Postgres
public import Primitives

extension StoredData {
  /// The expired sessions of one workspace, with the number of their messages.
  public typealias Expired = ExpiredConversations.Count

  /// Counts closed and deleted sessions without a message in the last `days` days. Changes nothing.
  public func expired(days: Int, workspace: Identifier?) throws -> [Expired] {
    try ask(ExpiredConversations.count(days: days, workspace: workspace))
  }

  /// Deletes these sessions in batches, and visitors without remaining sessions who were not seen
  /// since.
  public func removeExpired(
    days: Int, workspace: Identifier?, report: (MoveProgress) -> Void = { _ in }
  ) throws -> [Expired] {
    var removed: [Expired] = []
    let all = try expired(days: days, workspace: workspace)
    var progress = MoveProgress(
      title: "messages removed", rowsTotal: all.reduce(0) { $0 + $1.messages })
    progress.next = "visitors without conversations"
    let clock = ContinuousClock()
    let start = clock.now
    for item in all {
      var done = Expired(
        workspace: item.workspace, workspaceName: item.workspaceName, sessions: 0, messages: 0)
      while true {
        let (sessions, messages) = try ask(
          ExpiredConversations.remove(days: days, of: item.workspace, author: nil))
        if sessions == 0 { break }
        done.sessions += sessions
        done.messages += messages
        progress.rowsDone += messages
        progress.milliseconds = Int64((clock.now - start) / .milliseconds(1))
        report(progress)
      }
      let visitors = try removeVisitors(days: days, of: item.workspace, report: report)
      try connection.transaction { _ in
        try audit(
          "sessions.expired", workspace: item.workspace, target: nil,
          details: [
            ("days", Int64(days)), ("sessions", done.sessions), ("messages", done.messages),
            ("visitors", visitors),
          ])
        try announceChanges()
      }
      removed.append(done)
    }
    return removed
  }

  private func removeVisitors(
    days: Int, of workspace: Identifier, report: (MoveProgress) -> Void
  ) throws -> Int64 {
    var progress = MoveProgress(title: "visitors removed", rowsTotal: nil)
    let clock = ContinuousClock()
    let start = clock.now
    var last = Identifier.zero
    while true {
      let page = try ask(
        ExpiredConversations.removeVisitors(
          days: days, of: workspace, after: last, author: nil))
      guard let end = page.last else { return progress.rowsDone }
      last = end
      progress.rowsDone += page.visitors
      progress.milliseconds = Int64((clock.now - start) / .milliseconds(1))
      report(progress)
    }
  }
}

import Directory
import Postgres
import Primitives

/// One run of `maintenance.conversation_days` over all workspaces, step by step: each step is one
/// bounded statement of `ExpiredConversations`. A run that is given up loses nothing; the next one
/// searches again.
struct RetentionSweep: Sendable {
  enum Step: Sendable, Equatable {
    case more(rows: Int64)
    case done
    case failed
  }

  private enum Place: Sendable {
    case search
    /// The conversations of the first of `workspaces`.
    case conversations
    /// Its visitors behind this id.
    case visitors(after: Identifier)
    case announcement
  }

  /// The author of the entries in the audit log.
  private static let author = "rule"
  private static let purpose = "removal of old conversations"

  let days: Int
  private var place = Place.search
  private var workspaces: [Identifier] = []
  private(set) var hasRemoved = false

  init(days: Int) { self.days = days }

  mutating func step(_ statements: TimedStatements, on database: any Database) async -> Step {
    switch place {
    case .search:
      let count = ExpiredConversations.count(days: days, workspace: nil)
      guard let found = await ask(count, statements, database) else { return .failed }
      workspaces = found.map(\.workspace)
      enterNextWorkspace()
      return .more(rows: 0)
    case .conversations:
      guard let workspace = workspaces.first else { return .done }
      let batch = ExpiredConversations.remove(
        days: days, of: workspace, author: RetentionSweep.author)
      guard let removed = await ask(batch, statements, database) else { return .failed }
      if removed.sessions == 0 { place = .visitors(after: .zero) } else { hasRemoved = true }
      return .more(rows: removed.sessions)
    case .visitors(let last):
      guard let workspace = workspaces.first else { return .done }
      let page = ExpiredConversations.removeVisitors(
        days: days, of: workspace, after: last, author: RetentionSweep.author)
      guard let removed = await ask(page, statements, database) else { return .failed }
      if let end = removed.last {
        place = .visitors(after: end)
      } else {
        workspaces.removeFirst()
        enterNextWorkspace()
      }
      return .more(rows: removed.visitors)
    case .announcement:
      return await announce(statements, on: database) ? .done : .failed
    }
  }

  /// Gateways reload what was removed while they had it in memory. Call it too when a run is given
  /// up.
  func announce(_ statements: TimedStatements, on database: any Database) async -> Bool {
    guard hasRemoved else { return true }
    return await ask(ExpiredConversations.announce, statements, database) != nil
  }

  private mutating func enterNextWorkspace() {
    place = workspaces.isEmpty ? .announcement : .conversations
  }

  private func ask<Answer>(
    _ statement: Statement<Answer>, _ statements: TimedStatements, _ database: any Database
  ) async -> Answer? {
    await statements.answer(statement, for: RetentionSweep.purpose, on: database)
  }
}

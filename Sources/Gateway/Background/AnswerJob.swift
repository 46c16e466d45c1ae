import Chat
import Primitives
import REST

/// Lets Assist answer visitors, see `AutomaticAnswers`. The requests are in PostgreSQL, so that a
/// gateway finds those of one that crashed.
struct AnswerJob: BackgroundJob {
  let pauseMilliseconds: Int64 = 0
  /// A visitor waits longer for the endpoint.
  let sweepMilliseconds: Int64 = 1_000

  private let answers: AutomaticAnswers

  init(_ api: API) { answers = AutomaticAnswers(api) }

  func wants(_ news: WorkspaceNews, loop: Int) -> Bool { news.kind == .sweep }
  func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async {
    await answers.run(in: workspace)
  }

  func sweep() async -> [Identifier] { await answers.workspaces() }
}

import Chat
import Directory
import Engine
import Journal
import Postgres
import Primitives

/// When this loop says next which operators are there.
struct Beat {
  var next = Instant.zero
  var isUnderWay = false
}

/// Which operators are there, told to PostgreSQL, where all gateways meet.
extension EventLoop {
  /// At once when somebody has come, otherwise now and then.
  mutating func beatOperators() {
    if engine.takeNewOperators() { beat.next = now }
    guard now >= beat.next, !beat.isUnderWay, reader.isReady else { return }
    beat.next = now.advanced(byMilliseconds: OperatorPresence.beatMilliseconds)
    let here = engine.operatorsHere()
    guard !here.isEmpty else { return }
    beat.isUnderWay = queries.ask(
      OperatorPresence.beat(here).query, for: .presence, of: &reader, now: now)
  }

  /// The workspaces in which somebody came; nil when it was not stored.
  mutating func finishBeat(_ workspaces: [Identifier]?) {
    beat.isUnderWay = false
    for workspace in workspaces ?? [] {
      context.jobs.workspaceNews(
        WorkspaceNews(workspace: workspace, kind: .operators), loop: index, now: now)
    }
  }
}

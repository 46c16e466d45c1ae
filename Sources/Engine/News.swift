import Chat
import Primitives

/// What the driver hands on to those who work behind the scenes (`WorkspaceNews`). On the path of a
/// message this is one comparison; only a conversation's first message, and messages of visitors in
/// workspaces that listen, make an entry in a list.
extension Engine {
  /// Told after the commit of a visitor's message: only of a conversation's first one, and where
  /// bots listen, so it stays out of the path of the others. Of a session that is not in memory
  /// (nobody follows it: it was written over REST) nothing is known, so those who hear of it ask.
  @inline(never)
  mutating func noteVisitorMessage(_ record: Record, seq: Int64) {
    if let index = sessions.index(of: record.session), sessions[index].phase == .ready,
      sessions[index].snapshot.status != .waiting
    {
      return
    }
    if seq == 1 { effects.report(record.workspace, record.session, .waits) }
    if !listeners.isEmpty, listeners.contains(record.workspace) {
      effects.report(record.workspace, record.session, .wrote(seq: seq))
    }
  }
}

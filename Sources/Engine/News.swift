public import Chat
import Primitives

/// What the driver hands on to those who work behind the scenes (`WorkspaceNews`). On the path of a
/// message this is one comparison; only a conversation's first message, and messages of visitors in
/// workspaces that listen, make an entry in a list.
extension Engine {
  /// Told after the commit of a visitor's message, when it is shown: only of a conversation's first
  /// one, and where bots listen, so it stays out of the path of the others.
  @inline(never)
  mutating func noteVisitorMessage(_ index: Int, seq: Int64) {
    guard sessions[index].snapshot.status == .waiting else { return }
    let workspace = sessions[index].snapshot.workspace
    if seq == 1 { tell(workspace, sessions[index].id, .waits) }
    if !listeners.isEmpty, listeners.contains(workspace) {
      tell(workspace, sessions[index].id, .wrote(seq: seq))
    }
  }

  mutating func tell(
    _ workspace: Identifier, _ session: Identifier?, _ kind: WorkspaceNews.Kind
  ) {
    guard news.count < Limits.newsItems else { return }
    news.append(WorkspaceNews(workspace: workspace, session: session, kind: kind))
  }

  /// What happened since the last call.
  public mutating func takeNews() -> [WorkspaceNews] {
    guard !news.isEmpty else { return [] }
    defer { news = [] }
    return news
  }
}

/// The rights to erasure and to a copy of one's data (GDPR articles 17 and 15), for the command
/// line.
import Directory
public import Postgres
public import Primitives

extension StoredData {
  /// The number of sessions and messages that erasing a visitor affects.
  public struct Erasure: Sendable, Equatable {
    public var sessions: Int64
    public var messages: Int64

    public init(sessions: Int64 = 0, messages: Int64 = 0) {
      self.sessions = sessions
      self.messages = messages
    }
  }

  /// Counts the data that `erase` would remove; nil if the workspace has no such visitor. Changes
  /// nothing.
  public func erasure(
    of visitor: Identifier, workspace: Identifier
  ) throws(QueryFailure) -> Erasure? {
    let group = try ask(Visitor.group(of: visitor, in: workspace))
    guard !group.isEmpty else { return nil }
    let parameters: [Parameter] = [.uuid(workspace), .uuids(group)]
    return Erasure(
      sessions: try number(
        "SELECT count(*) FROM chat_sessions WHERE workspace_id = $1 AND user_id = ANY ($2)",
        parameters),
      messages: try number(
        """
        SELECT count(*) FROM chats c WHERE workspace_id = $1 AND kind <> 'event'
          AND (user_id = ANY ($2) OR session_id IN (
            SELECT id FROM chat_sessions WHERE workspace_id = $1 AND user_id = ANY ($2)))
        """, parameters))
  }

  /// Erases a visitor's data: see `VisitorData`.
  public func erase(_ visitor: Identifier, workspace: Identifier) throws -> Erasure {
    var done = Erasure()
    let sessions = try ask(VisitorData.lockOut(visitor, workspace: workspace, by: .command)) ?? []
    for session in sessions {
      done.messages += try ask(VisitorData.eraseSession(session, workspace: workspace))
      done.sessions += 1
    }
    done.messages += try ask(
      VisitorData.eraseRest(
        visitor, workspace: workspace, by: .command, sessions: done.sessions,
        messages: done.messages))
    return done
  }

  /// All data of a visitor as one JSON object; nil if the workspace has no such visitor.
  public func export(
    _ visitor: Identifier, workspace: Identifier
  ) throws(QueryFailure) -> String? {
    try ask(VisitorData.export(visitor, workspace: workspace))
  }
}

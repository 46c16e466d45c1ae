public import Primitives

/// An event in a workspace for the background jobs: queue positions, assignment, bots.
public struct WorkspaceNews: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    /// A conversation entered the queue: with its first message, or because it was returned.
    case waits
    /// An operator took a conversation.
    case taken
    case closed
    /// A visitor's message was committed in a conversation without an operator. Only for the
    /// workspaces in `Engine.listeners`.
    case wrote(seq: Int64)
    /// An operator came, or became available again.
    case operators
    /// Whether the reporting loop has subscribers of queue positions: reported for each new one,
    /// and when none is left.
    case positionSubscribers(Bool)
    /// Another gateway reported a change of the queue.
    case queueMoved
    /// A channel's webhook has stored events.
    case received
    /// No event, but a regular check for missed ones.
    case sweep
  }

  public var workspace: Identifier
  /// Nil when the event is not about one session.
  public var session: Identifier?
  public var kind: Kind

  public init(workspace: Identifier, session: Identifier? = nil, kind: Kind) {
    self.workspace = workspace
    self.session = session
    self.kind = kind
  }
}

public import Primitives

/// What happened in a workspace, for those who do something about it later and for whom nobody
/// waits: the line that moves up, conversations that are given to operators, bots.
public struct WorkspaceNews: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    /// A conversation stands in line: its first message came, or it was given back.
    case waits
    /// An operator has it.
    case taken
    case closed
    /// A visitor's message was committed while no operator had the conversation: told for
    /// workspaces that listen only, see `Engine.listeners`.
    case wrote(seq: Int64)
    /// An operator came, or takes conversations again.
    case operators
    /// A visitor has begun to look at a conversation that waits, on the loop that tells it; or
    /// nobody does so there any more.
    case audience(Bool)
    /// Another gateway has moved the line.
    case line
    /// Nothing is known to have happened; what was missed is made up for.
    case sweep
  }

  public var workspace: Identifier
  /// Nil where it is about no single one.
  public var session: Identifier?
  public var kind: Kind

  public init(workspace: Identifier, session: Identifier? = nil, kind: Kind) {
    self.workspace = workspace
    self.session = session
    self.kind = kind
  }
}

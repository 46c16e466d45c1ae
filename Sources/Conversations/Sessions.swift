/// What the gateway lends to those who work on conversations outside the path of a message.
public import Chat
public import Kernel
public import Primitives

/// The loops that own the conversations.
public protocol Sessions: Sendable {
  /// Appends an entry to a session's log, like a `send` of the socket: committed when it answers
  /// `stored`.
  func append(
    session: Identifier, workspace: Identifier, id: Identifier, role: Role, kind: EntryKind,
    sender: Identifier?, senderName: [UInt8], body: [UInt8], payload: [UInt8]
  ) async -> Outcome

  /// A hint that the database holds something new for this session: its owner reads the state and
  /// the new entries, and shows them to subscribers and inboxes.
  func changed(session: Identifier)

  /// Something of which work follows that nobody waits for: see `WorkspaceNews`.
  func happened(_ news: WorkspaceNews)

  /// Ends the connections of people who may not come in any more, as the database says, once their
  /// calls have ended. False: that could not be confirmed in time.
  func shutOut(_ ids: Set<Identifier>, after calls: Countdown) async -> Bool
}

extension Sessions {
  public func happened(_ news: WorkspaceNews) {}

  public func shutOut(_ ids: Set<Identifier>, after calls: Countdown) async -> Bool {
    await calls.isConfirmed
  }
}

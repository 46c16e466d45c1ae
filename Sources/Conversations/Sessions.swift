/// The sessions of the gateway's loops, for code outside the path of a message.
public import Chat
public import Kernel
public import Primitives

/// Access to the loops that own the sessions.
public protocol Sessions: Sendable {
  /// Appends an entry to a session's log, like `send` of the WebSocket. The entry is committed if
  /// the outcome is `stored`.
  func append(
    session: Identifier, workspace: Identifier, id: Identifier, role: Role, kind: EntryKind,
    sender: Identifier?, senderName: [UInt8], body: [UInt8], payload: [UInt8]
  ) async -> Outcome

  /// Notifies the session's owner of a change in the database: it reads the state and the new
  /// entries and sends them to subscribers and inboxes.
  func changed(session: Identifier)

  /// The same for a session that may not be in memory: the lists of its workspace are updated too.
  func changed(session: Identifier, of workspace: Identifier)

  /// Starts background work: see `WorkspaceNews`.
  func happened(_ news: WorkspaceNews)

  /// Closes the connections of people whose access was revoked in the database, after their calls
  /// in flight. False: no confirmation in time.
  func shutOut(_ ids: Set<Identifier>, after calls: Countdown) async -> Bool
}

extension Sessions {
  public func changed(session: Identifier, of workspace: Identifier) { changed(session: session) }

  public func happened(_ news: WorkspaceNews) {}

  public func shutOut(_ ids: Set<Identifier>, after calls: Countdown) async -> Bool {
    await calls.isConfirmed
  }
}

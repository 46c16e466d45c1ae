public import Primitives

/// Who is on the other end of a connection, after the token was verified.
public struct Member: Sendable, Equatable {
  public var person: Person
  public var workspace: Identifier
  /// The sessions a visitor's token names; an operator may use every session of the workspace.
  public var sessions: [Identifier] {
    session == .zero ? others : [session] + others
  }
  /// Nearly every visitor has one: it needs no array. Zero where there is none.
  private var session: Identifier
  private var others: [Identifier]
  public var expiresAt: WallTime

  public init(person: Person, workspace: Identifier, sessions: [Identifier], expiresAt: WallTime) {
    self.person = person
    self.workspace = workspace
    session = sessions.first ?? .zero
    others = Array(sessions.dropFirst())
    self.expiresAt = expiresAt
  }

  public var isOperator: Bool { person.role == .operator_ }

  /// Whether this member may use a session. The answer for a foreign session is the same as for a
  /// missing one (faults A08, A09).
  public func mayUse(_ snapshot: SessionSnapshot) -> Bool {
    guard snapshot.workspace == workspace else { return false }
    return mayName(snapshot.id)
  }

  /// The same as far as the token alone says.
  public func mayName(_ id: Identifier) -> Bool {
    isOperator || id == session && id != .zero || others.contains(id)
  }
}

public import Primitives

/// The verified identity of a connection.
public struct Member: Sendable, Equatable {
  public var person: Person
  public var workspace: Identifier
  /// The sessions in a visitor's token. An operator may use every session of the workspace.
  public var sessions: [Identifier] {
    session == .zero ? others : [session] + others
  }
  /// Nearly every visitor has exactly one, for which no array is allocated. Zero for none.
  private var session: Identifier
  private var others: [Identifier]
  public var expiresAt: WallTime
  /// The number of the key that signed the token, among those of this process.
  public var key: UInt32
  /// A digest of the client's address, under which its messages are counted; 0: they are not. Two
  /// addresses with one digest share their quota, which is rare and harmless.
  public var address: UInt32

  public init(
    person: Person, workspace: Identifier, sessions: [Identifier], expiresAt: WallTime,
    key: UInt32 = 0, address: UInt32 = 0
  ) {
    self.person = person
    self.workspace = workspace
    session = sessions.first ?? .zero
    others = Array(sessions.dropFirst())
    self.expiresAt = expiresAt
    self.key = key
    self.address = address
  }

  public var isOperator: Bool { person.role == .operator_ }

  /// Whether the member may use a session. If not, the client gets the same error as for a missing
  /// session (faults A08, A09).
  public func mayUse(_ snapshot: SessionSnapshot) -> Bool {
    guard snapshot.workspace == workspace else { return false }
    return mayName(snapshot.id)
  }

  /// Whether the token admits a session, whose workspace is not known yet.
  public func mayName(_ id: Identifier) -> Bool {
    isOperator || id == session && id != .zero || others.contains(id)
  }
}

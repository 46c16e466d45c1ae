public import Primitives

/// The status of a conversation, as stored in `chat_sessions.status`.
public enum SessionStatus: UInt8, Sendable, Named {
  case waiting, active, closed

  public var text: StaticString {
    switch self {
    case .waiting: "waiting"
    case .active: "active"
    case .closed: "closed"
    }
  }
}

/// The public identity of a visitor or an operator.
public struct Person: Sendable, Equatable {
  public var role: Role
  public var id: Identifier
  public var name: [UInt8]

  public init(role: Role, id: Identifier, name: [UInt8]) {
    self.role = role
    self.id = id
    self.name = name
  }
}

/// The last entries of a session that a person has read and received, by seq. Marks only grow.
public struct Mark: Sendable, Equatable {
  public var person: Person
  public var read: Int64
  public var delivered: Int64

  public init(person: Person, read: Int64, delivered: Int64) {
    self.person = person
    self.read = read
    self.delivered = delivered
  }
}

/// The state of a session apart from its log, read from the database when the session is loaded.
public struct SessionSnapshot: Sendable, Equatable {
  public var id: Identifier
  public var workspace: Identifier
  public var visitor: Person?
  /// Names one history of the log: a restore that may have lost entries changes it.
  public var epoch: [UInt8]
  /// The highest committed seq; 0 when the log is empty.
  public var head: Int64
  public var status: SessionStatus
  public var assignee: Person?
  public var title: [UInt8]
  public var marks: [Mark]

  public init(
    id: Identifier, workspace: Identifier, visitor: Person?, epoch: [UInt8], head: Int64,
    status: SessionStatus, assignee: Person?, title: [UInt8], marks: [Mark]
  ) {
    self.id = id
    self.workspace = workspace
    self.visitor = visitor
    self.epoch = epoch
    self.head = head
    self.status = status
    self.assignee = assignee
    self.title = title
    self.marks = marks
  }
}

public import Primitives

/// Where a conversation stands, as stored in `chat_sessions.status`.
public enum Status: UInt8, Sendable, Named {
  case waiting, active, closed

  public var text: StaticString {
    switch self {
    case .waiting: "waiting"
    case .active: "active"
    case .closed: "closed"
    }
  }
}

/// Who a visitor or an operator is, where others see it.
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

/// How far somebody has read and received a session. Cumulative: they only grow.
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

/// Everything about a session that is not in its log: read from the database when the session
/// becomes warm.
public struct SessionSnapshot: Sendable, Equatable {
  public var id: Identifier
  public var workspace: Identifier
  public var visitor: Person?
  public var epoch: [UInt8]
  /// The highest committed seq; 0 when the log is empty.
  public var head: Int64
  public var status: Status
  public var assignee: Person?
  public var title: [UInt8]
  public var marks: [Mark]

  public init(
    id: Identifier, workspace: Identifier, visitor: Person?, epoch: [UInt8], head: Int64,
    status: Status, assignee: Person?, title: [UInt8], marks: [Mark]
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

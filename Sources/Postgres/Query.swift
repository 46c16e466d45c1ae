public import Primitives

/// One statement with its parameters. `sql` consists of constants of the source, so each text is
/// prepared once per connection and no value can ever become part of it.
public struct Query: Sendable {
  public var sql: SQL
  public var parameters: [Parameter]
  /// Restricts the statement to one workspace by row security; nil runs it as the tables' owner.
  public var scope: Scope?
  /// Locks to take first, in separate statements of the same transaction. A statement sees the data
  /// committed before it started, so one that takes its locks itself would use the data from before
  /// its wait.
  public var locks: [Lock] = []
  /// Plans the statement for the parameters of each execution, and lets it scan whole tables.
  /// Statements with optional filters, or with values of very different frequency, have no plan
  /// that suits all parameters.
  public var isPlannedAnew = false

  public init(_ sql: SQL, _ parameters: [Parameter] = []) {
    self.sql = sql
    self.parameters = parameters
  }

  /// Disfavoured, since a literal could be both.
  @_disfavoredOverload
  public init(_ sql: StaticString, _ parameters: [Parameter] = []) {
    self.init(SQL(sql), parameters)
  }
}

/// A statement that takes locks; its rows are ignored.
public struct Lock: Sendable {
  public var sql: SQL
  public var parameters: [Parameter]

  public init(_ sql: SQL, _ parameters: [Parameter]) {
    self.sql = sql
    self.parameters = parameters
  }
}

/// The restriction of a statement to one workspace. It runs as the role `chirrup_reader`, to which
/// the policies of `chats` and `chat_sessions` apply, so that even a wrong statement returns no
/// rows of another workspace. If that role is not available, the statement runs as the owner; it
/// names the workspace in any case.
public struct Scope: Sendable, Equatable {
  public var workspace: Identifier
  /// A visitor, who sees their own sessions; nil for an operator, who sees the whole workspace.
  public var user: Identifier?

  public init(workspace: Identifier, user: Identifier? = nil) {
    self.workspace = workspace
    self.user = user
  }

  /// All settings end with the transaction.
  static let enter: SQL = """
    SELECT set_config('role', 'chirrup_reader', true),
      set_config('chirrup.workspace_id', $1::uuid::text, true),
      set_config('chirrup.user_id', coalesce($2::uuid::text, ''), true)
    """
  var parameters: [Parameter] { [.uuid(workspace), .uuid(user)] }

  /// Whether the connection's user may use the role.
  static let isPossible: SQL = """
    SELECT coalesce(pg_has_role(current_user, to_regrole('chirrup_reader'), 'MEMBER'), false)
    """
}

extension Query {
  /// Adds locks, in this order.
  public func after(_ locks: Lock...) -> Query {
    var query = self
    query.locks = locks
    return query
  }

  /// See `isPlannedAnew`.
  public func plannedAnew() -> Query {
    var query = self
    query.isPlannedAnew = true
    return query
  }

  public func scoped(to workspace: Identifier, user: Identifier? = nil) -> Query {
    var query = self
    query.scope = Scope(workspace: workspace, user: user)
    return query
  }
}

/// A parameter in PostgreSQL's binary form. The case determines the OID, so `$1` needs no cast.
public enum Parameter: Sendable, Equatable {
  case null
  case bool(Bool)
  case int(Int64)
  case uuid(Identifier)
  case text(String)
  /// UTF-8 bytes without U+0000.
  case utf8([UInt8])
  case bytes([UInt8])
  /// JSON text, sent as `jsonb`.
  case json([UInt8])
  case time(WallTime)
  /// Days since 1 January 1970.
  case date(Int64)
  case uuids([Identifier])
  case ints([Int64])

  public static func uuid(_ value: Identifier?) -> Parameter {
    value.map { Parameter.uuid($0) } ?? .null
  }

  public static func text(_ value: String?) -> Parameter {
    value.map { Parameter.text($0) } ?? .null
  }

  public static func time(_ value: WallTime?) -> Parameter {
    value.map { Parameter.time($0) } ?? .null
  }

  /// A date as PostgreSQL writes it, such as 2026-11-27. If a statement casts a text to `date`,
  /// PostgreSQL parses the text once for each row.
  public static func date(_ text: String) -> Parameter {
    daysSince1970(text).map { Parameter.date($0) } ?? .null
  }

  /// PostgreSQL counts days from 1 January 2000.
  static let daysTo2000: Int64 = 10_957
}

/// The reason why a query has no rows.
public enum QueryFailure: Error, Sendable, Equatable {
  /// PostgreSQL refused the statement.
  case refused(SQLState, message: String)
  /// Not connected, or the connection was lost before the answer: the statement may have run.
  case unavailable(reason: String)
  /// The queue of waiting queries is full.
  case overloaded
}

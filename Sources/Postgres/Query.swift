public import Primitives

/// One statement with its parameters. `sql` is a constant of the source, so each text is prepared
/// once per connection and no value can ever become part of it.
public struct Query: Sendable {
  public var sql: StaticString
  public var parameters: [Parameter]

  public init(_ sql: StaticString, _ parameters: [Parameter] = []) {
    self.sql = sql
    self.parameters = parameters
  }
}

/// A parameter in PostgreSQL's binary form. The type decides the OID, so `$1` needs no cast.
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
  case uuids([Identifier])

  public static func uuid(_ value: Identifier?) -> Parameter {
    value.map { Parameter.uuid($0) } ?? .null
  }

  public static func text(_ value: String?) -> Parameter {
    value.map { Parameter.text($0) } ?? .null
  }

  public static func time(_ value: WallTime?) -> Parameter {
    value.map { Parameter.time($0) } ?? .null
  }
}

/// Why a query has no rows to show.
public enum QueryFailure: Error, Sendable, Equatable {
  /// PostgreSQL refused the statement.
  case refused(SQLState, message: String)
  /// No connection, or it broke before the answer came: the statement may or may not have run.
  case unavailable(reason: String)
  /// The queue of waiting queries is full.
  case overloaded
}

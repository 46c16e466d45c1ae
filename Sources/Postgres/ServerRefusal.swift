/// Everything PostgreSQL says when it refuses a statement: for people who wrote the statement.
/// Users of the gateway only ever see the class of the error.
public struct ServerRefusal: Error, Sendable, Equatable {
  public var state: SQLState
  public var message: String
  public var detail: String?
  public var hint: String?
  /// The offending character of the text that was sent, from 1, where PostgreSQL knows it.
  public var position: Int?
  /// Where in a function or DO block it happened.
  public var context: String?

  public init(
    state: SQLState, message: String, detail: String? = nil, hint: String? = nil,
    position: Int? = nil, context: String? = nil
  ) {
    self.state = state
    self.message = message
    self.detail = detail
    self.hint = hint
    self.position = position
    self.context = context
  }

  /// The line of `text` that holds the offending character, from 1.
  public func line(in text: String) -> Int? {
    guard let position else { return nil }
    var line = 1
    for (offset, scalar) in text.unicodeScalars.enumerated() where scalar == "\n" {
      if offset >= position - 1 { break }
      line += 1
    }
    return line
  }
}

extension ServerRefusal: CustomStringConvertible {
  public var description: String {
    var text = "\(message) (SQLSTATE \(state.code))"
    if let detail { text += "; \(detail)" }
    if let hint { text += "; hint: \(hint)" }
    return text
  }
}

/// Why a script did not run to its end.
public enum ScriptFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// PostgreSQL refused a statement. `line` is the line of the script, where PostgreSQL knows it.
  case refused(ServerRefusal, line: Int?)
  case unavailable(reason: String)

  public var description: String {
    switch self {
    case .refused(let refusal, let line?): "line \(line): \(refusal)"
    case .refused(let refusal, nil): "\(refusal)"
    case .unavailable(let reason): "PostgreSQL is not available: \(reason)"
    }
  }
}

extension QueryFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let state, let message): "\(message) (SQLSTATE \(state.code))"
    case .unavailable(let reason): "PostgreSQL is not available: \(reason)"
    case .overloaded: "too many queries wait for PostgreSQL"
    }
  }
}

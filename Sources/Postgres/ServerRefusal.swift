/// The complete error of a refused statement, for its author. Users of the gateway only see the
/// class of the error.
public struct ServerRefusal: Error, Sendable, Equatable {
  public var state: SQLState
  public var message: String
  public var detail: String?
  public var hint: String?
  /// The position of the error in the text, counted in characters from 1, if known.
  public var position: Int?
  /// The location in a function or DO block.
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

  /// The line of `text` that contains the position, counted from 1.
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

/// The reason why a script did not complete.
public enum ScriptFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// PostgreSQL refused a statement. `line` is its line in the script, if known.
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

/// Why a command was refused: the error codes of chirrup.v1, and which of them a client may retry
/// with the same id.
public enum Refusal: UInt8, Error, Sendable, CaseIterable {
  case badFrame, unknownType, notSubscribed, unauthenticated, forbidden, noSuchSession
  case sessionClosed, tokenExpired, idConflict, tooLarge, rejected, rateLimited, unavailable
  case internal_

  public var code: StaticString {
    switch self {
    case .badFrame: "bad_frame"
    case .unknownType: "unknown_type"
    case .notSubscribed: "not_subscribed"
    case .unauthenticated: "unauthenticated"
    case .forbidden: "forbidden"
    case .noSuchSession: "no_such_session"
    case .sessionClosed: "session_closed"
    case .tokenExpired: "token_expired"
    case .idConflict: "id_conflict"
    case .tooLarge: "too_large"
    case .rejected: "rejected"
    case .rateLimited: "rate_limited"
    case .unavailable: "unavailable"
    case .internal_: "internal"
    }
  }

  public var isRetriable: Bool {
    switch self {
    case .rateLimited, .unavailable, .internal_: true
    default: false
    }
  }

  /// The default text of the error: what happened, and what to do.
  public var sentence: StaticString {
    switch self {
    case .badFrame: "The message is not a JSON object of chirrup.v1."
    case .unknownType: "This type of command does not exist in chirrup.v1."
    case .notSubscribed: "Subscribe to the session first."
    case .unauthenticated: "The first command must be hello with a token."
    case .forbidden: "Your role may not do this."
    case .noSuchSession: "There is no such session."
    case .sessionClosed: "This conversation is closed. Start a new one."
    case .tokenExpired: "The token has expired. Get a new one and authenticate."
    case .idConflict: "This id belongs to another message. Send this one under a new id."
    case .tooLarge: "The message is larger than limits.body_bytes or limits.payload_bytes."
    case .rejected: "This message cannot be stored."
    case .rateLimited: "Too many commands. Send again after retry_after_ms."
    case .unavailable: "The message store is unreachable. Send again under the same id."
    case .internal_: "Internal error. Try again."
    }
  }
}

import Chat
import Wire

/// Why a token does not open a connection or keep it open, with the error for the client's command
/// and the close code.
public enum TokenRefusal: Error, Sendable, CaseIterable {
  case expired
  case invalid
  /// Too many hellos and renewals from one address.
  case tooFast
  case tooManyConnections
  case workspaceFull
  /// The token was issued for pages of another origin (faults A05).
  case foreignOrigin
  /// The operator was disabled or removed, or has logged out, or the password or role was changed
  /// (faults A16).
  case revoked
  /// The key that signed the token has ended.
  case keyEnded
  /// The operator still has the password that an administrator set.
  case passwordChangeRequired
  /// The workspace requires a second factor, and the operator has none yet.
  case secondFactorRequired
  /// The visitor was blocked, or erased.
  case banned

  var refusal: Refusal {
    switch self {
    case .expired: .tokenExpired
    case .invalid, .revoked, .keyEnded: .unauthenticated
    case .foreignOrigin, .banned, .passwordChangeRequired, .secondFactorRequired: .forbidden
    case .tooFast, .tooManyConnections, .workspaceFull: .rateLimited
    }
  }

  var sentence: StaticString {
    switch self {
    case .expired: Refusal.tokenExpired.sentence
    case .invalid: "The token is not valid here."
    case .tooFast: "Too many hellos from this address. Try again later."
    case .tooManyConnections: "This visitor has too many connections. Close some."
    case .workspaceFull: "The workspace has too many connections. Try again later."
    case .foreignOrigin: "The token was issued for another site."
    case .revoked: "The login has ended. Log in again."
    case .keyEnded: "The key that signed the token has ended. Get a new token."
    case .passwordChangeRequired: "An administrator set this password. Change it first."
    case .secondFactorRequired: "Set up a second factor first."
    case .banned: "This visitor is blocked."
    }
  }

  var closeCode: CloseCode {
    switch self {
    case .expired: .tokenExpired
    case .invalid: .tokenInvalid
    case .tooFast, .tooManyConnections: .rateAbuse
    case .workspaceFull: .overloaded
    case .foreignOrigin: .originRefused
    case .revoked, .keyEnded: .tokenRevoked
    case .passwordChangeRequired, .secondFactorRequired: .passwordChangeRequired
    case .banned: .banned
    }
  }

  var reason: StaticString {
    switch self {
    case .expired: "the token has expired"
    case .invalid: "the token is not valid"
    case .tooFast: "too many hellos from one address"
    case .tooManyConnections: "too many connections of one visitor"
    case .workspaceFull: "too many connections in the workspace"
    case .foreignOrigin: "the token is of another origin"
    case .revoked: "the login has ended"
    case .keyEnded: "the token's key has ended"
    case .passwordChangeRequired: "the password must be changed first"
    case .secondFactorRequired: "a second factor must be set up first"
    case .banned: "the visitor is blocked"
    }
  }
}

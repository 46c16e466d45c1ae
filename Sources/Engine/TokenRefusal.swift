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
  /// The operator still has the password that an administrator set.
  case passwordChangeRequired
  /// The visitor was blocked, or erased.
  case banned

  var refusal: Refusal {
    switch self {
    case .expired: .tokenExpired
    case .invalid, .revoked: .unauthenticated
    case .foreignOrigin, .banned, .passwordChangeRequired: .forbidden
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
    case .passwordChangeRequired: "An administrator set this password. Change it first."
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
    case .revoked: .tokenRevoked
    case .passwordChangeRequired: .passwordChangeRequired
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
    case .passwordChangeRequired: "the password must be changed first"
    case .banned: "the visitor is blocked"
    }
  }
}

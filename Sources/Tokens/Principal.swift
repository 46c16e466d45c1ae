/// The subject of a token, and the reasons to refuse a token.
public import Primitives

/// The party at the other end of a connection, as named by a verified token.
public enum Principal: Hashable, Sendable {
  /// A visitor of one workspace, who may only subscribe to `sessions`; `name` may be empty.
  case visitor(id: Identifier, workspace: Identifier, sessions: [Identifier], name: String)
  /// An operator in one workspace. `role` is that of the membership: `agent`, `admin`, `owner`.
  case `operator`(id: Identifier, workspace: Identifier, name: String, role: String)

  public var id: Identifier {
    switch self {
    case .visitor(let id, _, _, _), .operator(let id, _, _, _): id
    }
  }

  public var workspace: Identifier {
    switch self {
    case .visitor(_, let workspace, _, _), .operator(_, let workspace, _, _): workspace
    }
  }

  public var name: String {
    switch self {
    case .visitor(_, _, _, let name), .operator(_, _, let name, _): name
    }
  }
}

/// Conditions for the use of a token, besides its signature and time.
public struct TokenBinding: Hashable, Sendable {
  /// The origin of the pages that a visitor's token was issued for; nil for any.
  public var origin: String?
  /// The hash, in hexadecimal, of the login in which an operator's token was issued.
  public var session: String?
  /// A value that changes with the operator's password.
  public var credential: String?

  public init(origin: String? = nil, session: String? = nil, credential: String? = nil) {
    self.origin = origin
    self.session = session
    self.credential = credential
  }
}

/// The content of a token with a valid signature and time.
public struct VerifiedToken: Hashable, Sendable {
  public var principal: Principal
  public var expiresAt: WallTime
  public var binding: TokenBinding
  /// The number of the key that has signed it, among those of this process.
  public var key: UInt32
}

/// The reason to refuse a token. Peers see no difference between the cases, except `expired`: close
/// code 4202.
public enum TokenFault: Error, Equatable, Sendable {
  /// Longer than `TokenAuthority.tokenBytesMax`, or a principal whose token would be.
  case tooLarge
  /// Not three base64url parts, or invalid claims.
  case malformed
  /// Not signed with an accepted key.
  case badSignature
  /// A header with another algorithm than HS256 (RFC 8725 §3.1), or with a critical extension
  /// (`crit`, RFC 7515 §4.1.11).
  case unsupportedAlgorithm
  case wrongIssuer
  /// The audience of neither a visitor's nor an operator's token.
  case wrongAudience
  case expired
  case notYetValid
}

/// Who a token speaks for, and why a token may be refused.
public import Primitives

/// Who is at the other end of a connection, as far as a verified token says.
public enum Principal: Hashable, Sendable {
  /// A visitor of one workspace. `sessions` are the only sessions they may subscribe to; `name` may
  /// be empty.
  case visitor(id: Identifier, workspace: Identifier, sessions: [Identifier], name: String)
  /// An operator, acting in one workspace. `role` is the membership's: `agent`, `admin`, `owner`.
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

/// What else must hold where a token is used, besides its signature and time.
public struct TokenBinding: Hashable, Sendable {
  /// The origin of the pages that a visitor's token was issued for; nil for any.
  public var origin: String?
  /// The hash of the login an operator's token was issued in, in hexadecimal.
  public var session: String?
  /// What changes with the operator's password.
  public var credential: String?

  public init(origin: String? = nil, session: String? = nil, credential: String? = nil) {
    self.origin = origin
    self.session = session
    self.credential = credential
  }
}

/// What a token says, once it is known to be ours and in time.
public struct VerifiedToken: Hashable, Sendable {
  public var principal: Principal
  public var expiresAt: WallTime
  public var binding: TokenBinding
}

/// Why a token is refused. To a peer every case but `expired` is the same: close code 4203.
public enum TokenFault: Error, Equatable, Sendable {
  /// More than `TokenAuthority.tokenBytesMax`, or a principal that needs so much.
  case tooLarge
  /// Not three base64url parts, or claims that are not ours.
  case malformed
  /// Not signed with this gateway's key.
  case badSignature
  /// A header that asks for anything but HS256 (RFC 8725 §3.1), or for an extension (`crit`, RFC
  /// 7515 §4.1.11).
  case unsupportedAlgorithm
  case wrongIssuer
  /// Neither a visitor's token nor an operator's.
  case wrongAudience
  case expired
  case notYetValid
}

/// The claims of a token (RFC 7519 §4), and their mapping to a principal.
import JSON
import Primitives

struct Claims {
  static let issuer = "chirrup"
  static let visitorAudience = "chirrup:visitor"
  static let operatorAudience = "chirrup:operator"
  static let instanceAudience = "chirrup:instance"

  var iss: String
  var aud: String
  var sub: String
  /// Seconds since 1970, UTC (RFC 7519 §2, NumericDate).
  var iat: Int64
  var exp: Int64
  /// Not issued here, but checked in a token that has it (RFC 7519 §4.1.5).
  var nbf: Int64?
  /// The workspace's id.
  var wsp: String
  /// The sessions of a visitor.
  var ses: [String]?
  var name: String
  /// The role of an operator.
  var role: String?
  /// See `TokenBinding`.
  var org: String?
  var sid: String?
  var crd: String?

  var binding: TokenBinding { TokenBinding(origin: org, session: sid, credential: crd) }

  init(_ principal: Principal, _ binding: TokenBinding, issuedAt: Int64, expiresAt: Int64) {
    org = binding.origin
    sid = binding.session
    crd = binding.credential
    iss = Claims.issuer
    sub = principal.id.description
    iat = issuedAt
    exp = expiresAt
    wsp = principal.workspace.description
    name = principal.name
    switch principal {
    case .visitor(_, _, let sessions, _):
      aud = Claims.visitorAudience
      ses = sessions.map(\.description)
    case .operator(_, _, _, let role):
      aud = Claims.operatorAudience
      self.role = role
    }
  }

  /// The claims as one JSON object (RFC 7519 §3), without empty members.
  var json: [UInt8] {
    .object { json in
      json.appendMember("iss", iss)
      json.appendMember("aud", aud)
      json.appendMember("sub", sub)
      json.appendMember("iat", iat)
      json.appendMember("exp", exp)
      if let nbf { json.appendMember("nbf", nbf) }
      json.appendMember("wsp", wsp)
      json.appendMember("name", name)
      if let ses { json.appendMember("ses", texts: ses) }
      json.appendMember("role", ifAny: role)
      json.appendMember("org", ifAny: org)
      json.appendMember("sid", ifAny: sid)
      json.appendMember("crd", ifAny: crd)
    }
  }

  func principal() throws(TokenFault) -> Principal {
    guard iss == Claims.issuer else { throw .wrongIssuer }
    guard let id = Identifier(sub), let workspace = Identifier(wsp) else { throw .malformed }
    switch aud {
    case Claims.visitorAudience:
      guard let ses else { throw .malformed }
      let sessions = ses.compactMap { Identifier($0) }
      guard sessions.count == ses.count else { throw .malformed }
      return .visitor(id: id, workspace: workspace, sessions: sessions, name: name)
    case Claims.operatorAudience:
      guard let role else { throw .malformed }
      return .operator(id: id, workspace: workspace, name: name, role: role)
    default:
      throw .wrongAudience
    }
  }
}

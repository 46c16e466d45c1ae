/// The claims inside a token (RFC 7519 §4) and how they map to a principal.
import Chat
import Primitives

struct Claims {
  static let issuer = "chirrup"
  static let visitorAudience = "chirrup:visitor"
  static let operatorAudience = "chirrup:operator"

  var iss: String
  var aud: String
  var sub: String
  /// Seconds since 1970, UTC (RFC 7519 §2, NumericDate).
  var iat: Int64
  var exp: Int64
  /// Never issued here, but a token that has it means it (RFC 7519 §4.1.5).
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

  /// The claims as one JSON object (RFC 7519 §3), without the members that say nothing.
  var json: [UInt8] {
    var json = Array("{".utf8)
    func append(_ name: StaticString, _ append: (inout [UInt8]) -> Void) {
      if json.count > 1 { json.append(UInt8(ascii: ",")) }
      json.append(UInt8(ascii: "\""))
      json.append(name)
      json.append("\":" as StaticString)
      append(&json)
    }
    func append(_ name: StaticString, _ text: String?) {
      guard let text else { return }
      append(name) { JSONText.append(quoted: Array(text.utf8), to: &$0) }
    }
    func append(_ name: StaticString, _ seconds: Int64?) {
      guard let seconds else { return }
      append(name) { $0.append(decimal: seconds) }
    }
    append("iss", iss)
    append("aud", aud)
    append("sub", sub)
    append("iat", iat)
    append("exp", exp)
    append("nbf", nbf)
    append("wsp", wsp)
    append("name", name)
    if let ses {
      append("ses") { json in
        json.append(UInt8(ascii: "["))
        for (index, session) in ses.enumerated() {
          if index > 0 { json.append(UInt8(ascii: ",")) }
          JSONText.append(quoted: Array(session.utf8), to: &json)
        }
        json.append(UInt8(ascii: "]"))
      }
    }
    append("role", role)
    append("org", org)
    append("sid", sid)
    append("crd", crd)
    json.append(UInt8(ascii: "}"))
    return json
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

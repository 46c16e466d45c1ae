import Postgres
public import Primitives

/// What an operator's token stands for: a membership with its role, and, for one who logged in, the
/// login and the password at that time. When any of it is gone, so is the token's worth.
public struct OperatorLogin: Sendable, Hashable {
  public var id: Identifier
  public var workspace: Identifier
  public var role: String
  /// The hash of the login's cookie, in hexadecimal; nil for a token of the command line.
  public var session: String?
  /// See `Operator.credential`; nil likewise.
  public var credential: String?

  public init(
    id: Identifier, workspace: Identifier, role: String, session: String?, credential: String?
  ) {
    self.id = id
    self.workspace = workspace
    self.role = role
    self.session = session
    self.credential = credential
  }

  /// Logins of one statement.
  public static let checkedMax = 4_096

  /// Which of these logins are still good, by their places in the list.
  public static func stillGood(_ logins: [OperatorLogin]) -> Statement<[Int]> {
    var json = Array("[".utf8)
    for (place, login) in logins.prefix(checkedMax).enumerated() {
      if place > 0 { json.append(UInt8(ascii: ",")) }
      // Identifiers and hexadecimal digits of our own, and a role: nothing that needs escapes.
      let fields = [
        ("operator", login.id.description), ("workspace", login.workspace.description),
        ("role", login.role), ("session", login.session ?? ""),
        ("credential", login.credential ?? ""),
      ]
      let members = fields.map { #""\#($0.0)":"\#($0.1.filter { $0.isASCII && $0 != "\"" })""# }
      json += Array(#"{"place":\#(place),\#(members.joined(separator: ","))}"#.utf8)
    }
    json.append(UInt8(ascii: "]"))
    return Statement(Query(stillGoodSQL, [.json(json)])) { rows in
      (0..<rows.count).compactMap { rows.int($0, 0).map { Int($0) } }
    }
  }

  private static let stillGoodSQL: StaticString = """
    SELECT l.place::bigint
    FROM jsonb_to_recordset($1::jsonb) AS l (
      place integer, operator uuid, workspace uuid, role text, session text, credential text)
    JOIN memberships m ON m.operator_id = l.operator AND m.workspace_id = l.workspace
    JOIN operators o ON o.id = m.operator_id
    WHERE o.disabled_at IS NULL AND m.role = l.role
      AND (l.credential = '' OR l.credential
        = left(encode(sha256(convert_to(coalesce(o.password_hash, ''), 'UTF8')), 'hex'), 16))
      AND (l.session = '' OR EXISTS (
        SELECT FROM operator_sessions s WHERE s.token_hash = decode(l.session, 'hex')))
    """
}

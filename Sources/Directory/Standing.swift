/// Whether the claims of a token still hold. The gateway checks them before it accepts a
/// connection, and again after a revocation. The rows of operators and visitors decide;
/// `revocations` names the subjects to check again, and the visitors who were erased of late.
public import Postgres
public import Primitives

public enum Standing {
  /// The subject of a token, with the claims to check.
  public enum Subject: Sendable, Hashable {
    case login(OperatorLogin)
    case visitor(Identifier, workspace: Identifier)

    public var id: Identifier {
      switch self {
      case .login(let login): login.id
      case .visitor(let id, _): id
      }
    }
  }

  /// Why the claims of a subject do not hold.
  public enum Exclusion: String, Sendable {
    /// The operator's login has ended.
    case ended
    /// The visitor was blocked, or erased within the last 25 hours.
    case banned
    /// The workspace has no such visitor.
    case unknown
  }

  /// Subjects of one statement.
  public static let checkedMax = 512

  /// Those of the first `checkedMax` subjects whose claims do not hold.
  public static func shutOut(of subjects: [Subject]) -> Statement<[Subject: Exclusion]> {
    let subjects = Array(subjects.prefix(checkedMax))
    var visitors: [(id: Identifier, workspace: Identifier, place: Int)] = []
    for (place, subject) in subjects.enumerated() {
      if case .visitor(let id, let workspace) = subject { visitors.append((id, workspace, place)) }
    }
    let places = visitors.map(\.place)
    return Statement(
      Query(
        shutOutSQL,
        [
          .json(logins(in: subjects)), .uuids(visitors.map(\.workspace)),
          .uuids(visitors.map(\.id)),
        ]
      )
    ) { rows in
      var found: [Subject: Exclusion] = [:]
      for row in 0..<rows.count {
        guard let exclusion = rows.text(row, 0).flatMap({ Exclusion(rawValue: $0) }),
          let place = rows.int(row, 1)
        else { continue }
        found[subjects[exclusion == .ended ? Int(place) : places[Int(place)]]] = exclusion
      }
      return found
    }
  }

  private static func logins(in subjects: [Subject]) -> [UInt8] {
    var json = Array("[".utf8)
    for (place, subject) in subjects.enumerated() {
      guard case .login(let login) = subject else { continue }
      if json.count > 1 { json.append(UInt8(ascii: ",")) }
      // Identifiers, hexadecimal digits and a role: no character that needs an escape.
      let fields = [
        ("operator", login.id.description), ("workspace", login.workspace.description),
        ("role", login.role), ("session", login.session ?? ""),
        ("credential", login.credential ?? ""),
      ]
      let members = fields.map { #""\#($0.0)":"\#($0.1.filter { $0.isASCII && $0 != "\"" })""# }
      json += Array(#"{"place":\#(place),\#(members.joined(separator: ","))}"#.utf8)
    }
    json.append(UInt8(ascii: "]"))
    return json
  }

  /// `LIMIT 1` makes each subquery one index lookup; `EXISTS` lets the planner read whole tables.
  private static let shutOutSQL: SQL = """
    SELECT 'ended', l.place::bigint
    FROM jsonb_to_recordset($1::jsonb) AS l (
      place integer, operator uuid, workspace uuid, role text, session text, credential text)
    WHERE NOT coalesce((
      SELECT o.disabled_at IS NULL AND m.role = l.role
        AND (l.credential = '' OR l.credential
          = \(Operator.credential(of: "o.password_hash")))
      FROM memberships m JOIN operators o ON o.id = m.operator_id
      WHERE m.operator_id = l.operator AND m.workspace_id = l.workspace LIMIT 1), false)
      OR l.session <> '' AND NOT coalesce((
        SELECT s.operator_id = l.operator FROM operator_sessions s
        WHERE s.token_hash = decode(l.session, 'hex') LIMIT 1), false)
    UNION ALL
    SELECT v.exclusion, v.place - 1
    FROM (
      SELECT v.place, coalesce(
        (SELECT CASE WHEN x.banned_at IS NULL THEN '' ELSE 'banned' END FROM visitors x
          WHERE x.id = v.id AND x.workspace_id = v.workspace LIMIT 1),
        (SELECT 'banned' FROM revocations r WHERE r.subject_id = v.id LIMIT 1),
        'unknown') AS exclusion
      FROM unnest($2::uuid[], $3::uuid[]) WITH ORDINALITY AS v (workspace, id, place)) AS v
    WHERE v.exclusion <> ''
    """

  /// Revocations of one read; if there are more, all connections are checked again.
  public static let revokedMax = 1_000

  /// `subjects` is nil if there are more than `revokedMax`.
  public typealias Revoked = (horizon: String?, subjects: Set<Identifier>?)

  /// The subjects revoked by transactions that were not committed at an earlier read. Pass the
  /// `horizon` of that read; the first read, without one, returns no subjects.
  public static func revoked(since horizon: String?) -> Statement<Revoked> {
    Statement(
      Query(
        """
        SELECT s.horizon, r.subject_id
        FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon) AS s
        LEFT JOIN LATERAL (SELECT subject_id FROM revocations
          WHERE transaction_id >= $1::text::xid8 ORDER BY transaction_id LIMIT $2::bigint) AS r
          ON true
        """, [.text(horizon), .int(Int64(revokedMax) + 1)])
    ) { rows in
      let subjects = Set((0..<rows.count).compactMap { rows.uuid($0, 1) })
      return (rows.isEmpty ? nil : rows.text(0, 0), rows.count > revokedMax ? nil : subjects)
    }
  }

  /// Deletes up to `limit` revocations older than every valid token: 25 hours, as tokens live at
  /// most a day.
  public static func forgetRevocations(limit: Int) -> Query {
    Query(
      """
      DELETE FROM revocations WHERE id IN (
        SELECT id FROM revocations WHERE at < now() - interval '25 hours'
        ORDER BY at LIMIT $1::bigint FOR UPDATE SKIP LOCKED)
      """, [.int(Int64(limit))])
  }
}

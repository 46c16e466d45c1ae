/// Joins two visitors who are one person, by the decision of an operator.
///
/// The surviving visitor gets the conversations and ratings of the other. The other one stays as a
/// row without conversations (`merged_into`): its tokens, refresh secrets and events are those of
/// its browsers, which go on without a new login. A browser continues the conversations that it
/// could see before (`chat_sessions.merged_from`), and no others: the operator says that both are
/// one person, and only a signature of the host site would prove it.
///
/// The messages keep their sender: they are committed, and clients have them.
public import Postgres
public import Primitives

public struct VisitorMerge: Sendable {
  /// The surviving visitor, unless the site knows only the other one (`external_id`).
  var visitor: Identifier
  var other: Identifier

  public init(of other: Identifier, into visitor: Identifier) {
    self.visitor = visitor
    self.other = other
  }

  /// A visitor has at most so many merged ones, which many statements read.
  public static let mergedMax: Int64 = 50
  /// Conversations of both whose ids are returned, newest first: they show the name.
  static let announcedMax: Int64 = 50

  /// Why two visitors cannot be merged.
  public enum Refusal: String, Sendable {
    /// Both have an id of the host site: for the site they are two people.
    case twoIdentities = "two_identities"
    /// Together they have more than `mergedMax` merged visitors.
    case full
    /// The same id twice.
    case same
    /// The workspace does not have the visitor of the path.
    case noSuchVisitor = "no_such_visitor"
    /// It does not have the other one.
    case noSuchOther = "no_such_other"
  }

  // MARK: Preview

  /// The effect of a merge, which is not made. Columns: verdict, which is `possible`, `done` or a
  /// `Refusal`; survivor and other, each with the columns of `Visitor.details`; then the attributes
  /// of the survivor after it.
  public func preview(in workspace: Identifier) -> Query {
    Query(
      """
      WITH \(VisitorMerge.judged(visitor: "$2::uuid", other: "$3::uuid", mergedMax: "$4::bigint"))
      SELECT j.verdict, \(Visitor.columns("k")), \(Visitor.columns("o")),
        (\(VisitorMerge.attributes(countMax: "$5::bigint")))::text
      FROM judged j LEFT JOIN sides k ON k.place = 1 LEFT JOIN sides o ON o.place = 2
      """, [.uuid(workspace), .uuid(visitor), .uuid(other)] + VisitorMerge.limits)
  }

  private static let limits: [Parameter] = [
    .int(mergedMax), .int(Int64(VisitorProfile.attributesMax)),
  ]

  /// The visitors of both ids (`sides`; place 1 survives), and whether they may be merged.
  private static func judged(visitor: SQL, other: SQL, mergedMax: SQL) -> SQL {
    """
    given AS (
      SELECT \(Visitor.surviving(visitor, in: "$1::uuid")) AS visitor,
        \(Visitor.surviving(other, in: "$1::uuid")) AS other
    ), sides AS (
      SELECT v.*, row_number() OVER (
          ORDER BY v.external_id IS NULL, v.id <> g.visitor) AS place
      FROM given g JOIN visitors v
        ON v.workspace_id = $1::uuid AND v.id IN (g.visitor, g.other)
    ), judged AS (
      SELECT g.visitor, g.other, CASE
        WHEN NOT EXISTS (SELECT FROM sides s WHERE s.id = g.visitor) THEN 'no_such_visitor'
        WHEN NOT EXISTS (SELECT FROM sides s WHERE s.id = g.other) THEN 'no_such_other'
        WHEN \(visitor) = \(other) THEN 'same'
        WHEN g.visitor = g.other THEN 'done'
        WHEN (SELECT count(s.external_id) FROM sides s) = 2 THEN 'two_identities'
        WHEN (SELECT count(*) FROM visitors m WHERE m.workspace_id = $1::uuid
            AND m.merged_into IN (g.visitor, g.other)) >= \(mergedMax) THEN 'full'
        ELSE 'possible' END AS verdict
      FROM given g
    )
    """
  }

  /// Of the survivor `k`: its own values win, and the other's fill the rest.
  private static func attributes(countMax: SQL) -> SQL {
    """
    k.attributes || coalesce((SELECT jsonb_object_agg(a.key, a.value) FROM (
      SELECT e.key, e.value FROM jsonb_each(o.attributes) AS e
      WHERE NOT k.attributes ? e.key ORDER BY e.key
      LIMIT greatest(0, \(countMax)
        - (SELECT count(*) FROM jsonb_object_keys(k.attributes)))) AS a), '{}')
    """
  }

  // MARK: Merge

  /// Fields in which the value of the other visitor is to hold. Else the survivor's holds, unless
  /// it is empty.
  public struct Taken: Sendable {
    public var name: Bool
    public var email: Bool

    public init(name: Bool = false, email: Bool = false) {
      self.name = name
      self.email = email
    }
  }

  public struct Result: Sendable, Equatable {
    public var survivor: Identifier
    /// The number of conversations that were moved; 0 also if the visitors were merged before.
    public var moved: Int64
    public var isBlocked: Bool
    /// The newest conversations of both.
    public var newest: [Identifier]
  }

  public enum Outcome: Sendable, Equatable {
    case done(Result)
    case refused(Refusal)
  }

  /// Merges in one transaction. A repeated request changes nothing.
  ///
  /// The locks serialise it with other merges of the workspace, and with statements that open a
  /// conversation for one of the visitors or block one: each of them sees what the other has done.
  /// Conversations are locked in the order of their ids, as a batch of messages does.
  public func statement(
    taking taken: Taken, by actor: AuditActor, now: WallTime
  ) -> Statement<Outcome> {
    let parameters = actor.parameters + [.uuid(visitor), .uuid(other)]
    return Statement(
      Query(
        VisitorMerge.mergeSQL,
        parameters + [
          .bool(taken.name), .bool(taken.email), .time(now), .int(VisitorMerge.announcedMax),
        ] + VisitorMerge.limits
      ).after(.merges(in: actor.workspace), VisitorMerge.rows(visitor, other, actor.workspace))
    ) { rows in
      guard let survivor = rows.uuid(0, 1) else {
        return .refused(rows.text(0, 0).flatMap { Refusal(rawValue: $0) } ?? .noSuchVisitor)
      }
      return .done(
        Result(
          survivor: survivor, moved: rows.int(0, 2) ?? 0, isBlocked: rows.bool(0, 3) ?? false,
          newest: (rows.text(0, 4) ?? "").split(separator: " ").compactMap {
            Identifier(String($0))
          }))
    }
  }

  /// Locks both visitors and all that were merged into them, in the order of their ids.
  private static func rows(
    _ visitor: Identifier, _ other: Identifier, _ workspace: Identifier
  ) -> Lock {
    Lock(
      """
      WITH named AS (
        SELECT coalesce(v.merged_into, v.id) AS id FROM visitors v
        WHERE v.workspace_id = $1::uuid AND v.id IN ($2::uuid, $3::uuid)
      )
      SELECT v.id FROM visitors v WHERE v.workspace_id = $1::uuid
        AND v.id IN (SELECT n.id FROM named n UNION ALL
          SELECT m.id FROM visitors m JOIN named n ON m.merged_into = n.id)
      ORDER BY v.id FOR UPDATE OF v
      """, [.uuid(workspace), .uuid(visitor), .uuid(other)])
  }

  private static let mergeSQL: SQL = """
    WITH \(judged(visitor: "$4::uuid", other: "$5::uuid", mergedMax: "$10::bigint")), pair AS (
      SELECT k.id AS kept, o.id AS other, k.banned_at IS NULL AND o.banned_at IS NOT NULL AS blocks,
        coalesce(k.banned_at, o.banned_at) AS banned_at,
        CASE WHEN $6::boolean OR k.name = '' THEN coalesce(nullif(o.name, ''), k.name)
          ELSE k.name END AS name,
        CASE WHEN $7::boolean OR k.email IS NULL THEN coalesce(o.email, k.email)
          ELSE k.email END AS email,
        \(attributes(countMax: "$11::bigint")) AS attributes
      FROM judged j JOIN sides k ON k.place = 1 JOIN sides o ON o.place = 2
      WHERE j.verdict = 'possible'
    ), target AS MATERIALIZED (
      SELECT s.id FROM chat_sessions s JOIN pair p ON s.user_id = p.other
      WHERE s.workspace_id = $1::uuid ORDER BY s.id FOR UPDATE OF s
    ), moved AS (
      UPDATE chat_sessions s SET user_id = p.kept, merged_from = coalesce(s.merged_from, p.other)
      FROM target t, pair p WHERE s.workspace_id = $1::uuid AND s.id = t.id
      RETURNING s.id
    ), rated AS (
      UPDATE csat_responses r SET visitor_id = p.kept FROM moved m, pair p
      WHERE r.workspace_id = $1::uuid AND r.session_id = m.id AND r.visitor_id = p.other
    ), joined AS (
      UPDATE visitors v SET
        banned_at = coalesce(v.banned_at, p.banned_at),
        merged_into = CASE WHEN v.id <> p.kept THEN p.kept END,
        merged_at = CASE WHEN v.id = p.other THEN $8::timestamptz ELSE v.merged_at END,
        name = CASE WHEN v.id = p.kept THEN p.name ELSE v.name END,
        email = CASE WHEN v.id = p.kept THEN p.email ELSE v.email END,
        attributes = CASE WHEN v.id = p.kept THEN p.attributes ELSE v.attributes END
      FROM pair p WHERE v.workspace_id = $1::uuid
        AND (v.id IN (p.kept, p.other) OR v.merged_into IN (p.kept, p.other))
    ), blocked AS (
      INSERT INTO friend_events (workspace_id, visitor_id, channel, event, created_at)
      SELECT $1::uuid, kept, \(Visitor.channel), 'block', $8::timestamptz FROM pair WHERE blocks
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
      SELECT $1::uuid, $2::uuid, $3::text, 'visitor.merged', kept, jsonb_build_object(
        'merged', other, 'conversations', (SELECT count(*) FROM moved))
      FROM pair
    )
    SELECT j.verdict,
      coalesce(p.kept, CASE WHEN j.verdict = 'done' THEN j.visitor END),
      (SELECT count(*) FROM moved),
      coalesce(p.banned_at, CASE WHEN j.verdict = 'done' THEN
        (SELECT s.banned_at FROM sides s WHERE s.place = 1) END) IS NOT NULL,
      (SELECT string_agg(n.id::text, ' ') FROM (
        SELECT s.id FROM chat_sessions s WHERE s.workspace_id = $1::uuid
          AND s.user_id IN (p.kept, p.other) AND s.deleted_at IS NULL
        ORDER BY s.created_at DESC LIMIT $9::bigint) AS n)
    FROM judged j LEFT JOIN pair p ON true
    """
}

extension Lock {
  /// Serialises merges of visitors in a workspace, and what must see which visitors are merged.
  static func merges(in workspace: Identifier) -> Lock {
    Lock(
      "SELECT pg_advisory_xact_lock(hashtextextended('chirrup merges ' || $1::uuid::text, 0))",
      [.uuid(workspace)])
  }
}

extension Visitor {
  /// The visitor who has the conversations of this one: the one into which it was merged, or the
  /// same.
  static func surviving(_ id: SQL, in workspace: SQL) -> SQL {
    """
    coalesce((SELECT x.merged_into FROM visitors x
      WHERE x.id = \(id) AND x.workspace_id = \(workspace)), \(id))
    """
  }

  /// Whether a row of `visitors` is this visitor, or was merged into this one.
  static func isOf(_ v: SQL, visitor: SQL) -> SQL {
    "(\(v).id = \(visitor) OR \(v).merged_into = \(visitor))"
  }

  /// The visitor, then those merged into this one. Empty if the workspace has no such visitor.
  public static func group(
    of id: Identifier, in workspace: Identifier
  ) -> Statement<[Identifier]> {
    Statement(
      Query(
        """
        WITH named AS (SELECT \(surviving("$2::uuid", in: "$1::uuid")) AS id)
        SELECT v.id FROM visitors v, named n WHERE v.workspace_id = $1::uuid AND v.id = n.id
        UNION ALL
        SELECT v.id FROM visitors v, named n
        WHERE v.workspace_id = $1::uuid AND v.merged_into = n.id
        """, [.uuid(workspace), .uuid(id)])
    ) { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } }
  }

  /// Those of a workspace with these words in the name or e-mail address, or with this id or
  /// external id, last seen first. Columns as those of `details`.
  public static func search(
    _ words: String, except: Identifier?, in workspace: Identifier, limit: Int
  ) -> Query {
    Query(
      """
      SELECT \(columns("v")) FROM visitors v
      WHERE v.workspace_id = $1::uuid AND v.merged_into IS NULL
        AND v.id IS DISTINCT FROM \(surviving("$4::uuid", in: "$1::uuid"))
        AND (strpos(lower(v.name), lower($2::text)) > 0
          OR strpos(lower(v.email), lower($2::text)) > 0 OR v.external_id = $2::text
          OR v.id = \(surviving("$3::uuid", in: "$1::uuid")))
      ORDER BY v.last_seen_at DESC NULLS LAST, v.id LIMIT $5::bigint
      """,
      [
        .uuid(workspace), .text(words), .uuid(Identifier(words)), .uuid(except),
        .int(Int64(limit)),
      ])
  }
}

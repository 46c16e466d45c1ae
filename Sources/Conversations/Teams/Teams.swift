public import Directory
public import Postgres
public import Primitives
import SharedSQL

/// The teams of a workspace (`chat_teams`). A conversation of a team waits in its line and is
/// assigned to its members only; any operator may still claim it by hand.
public enum Teams {
  public static let countMax = TeamBounds.countMax
  public static let membersMax = Int64(TeamBounds.membersMax)
  public static let languagesMax = 20
  /// The values of `assign`; nil is the workspace's own.
  public static let assignments = ["off", "least_busy", "round_robin"]
  /// Conversations that leave a team in one transaction.
  public static let releasedMax: Int64 = 500

  /// The members that a request sets; others of an existing team stay as they are.
  public struct Change: Sendable {
    public var name: String?
    /// Nil: no change; inside, nil: as the workspace.
    public var assign: String??
    public var capacity: Int64??
    /// Nil inside: never.
    public var overflowAfterMinutes: Int64??
    public var languages: [String]?
    /// A JSON object as text; nil inside: those of the workspace.
    public var hours: [UInt8]??
    /// Targets in minutes of business hours; nil inside: as the workspace.
    public var firstResponseMinutes: Int64??
    public var resolutionMinutes: Int64??

    public init() {}

    /// From `$5` on; see `changedColumns`.
    fileprivate var parameters: [Parameter] {
      [
        .text(name), .bool(assign != nil), .text(assign ?? nil), .bool(capacity != nil),
        (capacity ?? nil).map { .int($0) } ?? .null, .bool(overflowAfterMinutes != nil),
        (overflowAfterMinutes ?? nil).map { .int($0) } ?? .null,
        .text(languages?.joined(separator: "\n")), .bool(hours != nil),
        (hours ?? nil).map { .json($0) } ?? .null, .bool(firstResponseMinutes != nil),
        (firstResponseMinutes ?? nil).map { .int($0) } ?? .null, .bool(resolutionMinutes != nil),
        (resolutionMinutes ?? nil).map { .int($0) } ?? .null,
      ]
    }
  }

  /// The result of a change, or its refusal.
  public enum Outcome: String, Sendable {
    case done
    case nameTaken = "name_taken"
    case full
  }

  /// One page in the order of the names. Columns: id, name, assign, capacity, overflow in minutes,
  /// targets in minutes, languages, hours, members as a JSON array, whether one is available,
  /// waiting conversations, creation time; then the name.
  ///
  /// - Parameter last: the last name of the previous page; nil: the first page.
  public static func page(of workspace: Identifier, after last: String?, limit: Int) -> Query {
    Query(listSQL, [.uuid(workspace), .null, .text(last), .int(Int64(limit))])
  }

  /// One team, with the columns of `page`.
  public static func find(_ id: Identifier, in workspace: Identifier) -> Query {
    Query(listSQL, [.uuid(workspace), .uuid(id), .null, .int(1)])
  }

  private static let listSQL: SQL = """
    SELECT t.id, t.name, t.assign, t.capacity::bigint, t.overflow_after_minutes::bigint,
      t.first_response_minutes::bigint, t.resolution_minutes::bigint,
      array_to_string(t.languages, E'\\n'), t.hours::text,
      (SELECT coalesce(jsonb_agg(jsonb_build_object('id', o.id, 'name', o.name)
          ORDER BY o.name, o.id), '[]')
        FROM chat_team_members m JOIN operators o ON o.id = m.operator_id
        WHERE m.workspace_id = $1::uuid AND m.team_id = t.id)::text,
      chirrup_is_team_available($1::uuid, t.id),
      (SELECT count(*) FROM chat_sessions s
        WHERE s.workspace_id = $1::uuid AND \(ConversationQueue.contains("s"))
          AND \(ConversationQueue.line("s")) = t.id),
      t.created_at, t.name
    FROM chat_teams t
    WHERE t.workspace_id = $1::uuid AND ($2::uuid IS NULL OR t.id = $2::uuid)
      AND ($3::text IS NULL OR t.name > $3::text)
    ORDER BY t.name LIMIT $4::bigint
    """

  /// The lock of the members serialises changes of teams, so that each sees the names and the
  /// number of all others.
  public static func add(
    _ id: Identifier, _ team: Change, by actor: AuditActor
  ) -> Statement<Outcome?> {
    outcome(
      Query(addSQL, actor.parameters + [.uuid(id)] + team.parameters + [.int(countMax)])
        .after(.members(of: actor.workspace)))
  }

  /// The answer is nil if the workspace has no such team.
  public static func change(
    _ id: Identifier, _ change: Change, by actor: AuditActor
  ) -> Statement<Outcome?> {
    outcome(
      Query(changeSQL, actor.parameters + [.uuid(id)] + change.parameters)
        .after(.members(of: actor.workspace)))
  }

  private static func outcome(_ query: Query) -> Statement<Outcome?> {
    Statement(query) { rows in
      rows.isEmpty ? nil : rows.text(0, 0).flatMap { Outcome(rawValue: $0) }
    }
  }

  private static let addSQL: SQL = """
    WITH verdict AS (
      SELECT CASE WHEN EXISTS (SELECT FROM chat_teams
            WHERE workspace_id = $1::uuid AND name = $5::text) THEN 'name_taken'
        WHEN (SELECT count(*) FROM chat_teams WHERE workspace_id = $1::uuid) >= $19::bigint
          THEN 'full' ELSE 'done' END AS word
    ), made AS (
      INSERT INTO chat_teams (workspace_id, id, name, assign, capacity, overflow_after_minutes,
        languages, hours, first_response_minutes, resolution_minutes)
      SELECT $1::uuid, $4::uuid, $5::text, CASE WHEN $6::boolean THEN $7::text END,
        CASE WHEN $8::boolean THEN $9::bigint END, CASE WHEN $10::boolean THEN $11::bigint END,
        coalesce(string_to_array(nullif($12::text, ''), E'\\n'), '{}'),
        CASE WHEN $13::boolean THEN $14::jsonb END, CASE WHEN $15::boolean THEN $16::bigint END,
        CASE WHEN $17::boolean THEN $18::bigint END
      FROM verdict WHERE word = 'done' RETURNING id
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
      SELECT $1::uuid, $2::uuid, $3::text, 'team.added', id, jsonb_build_object('name', $5::text)
      FROM made
    )
    SELECT word FROM verdict
    """

  private static let changeSQL: SQL = """
    WITH target AS (
      SELECT id FROM chat_teams WHERE workspace_id = $1::uuid AND id = $4::uuid FOR UPDATE
    ), verdict AS (
      SELECT t.id, CASE WHEN EXISTS (SELECT FROM chat_teams o WHERE o.workspace_id = $1::uuid
          AND o.name = $5::text AND o.id <> t.id) THEN 'name_taken' ELSE 'done' END AS word
      FROM target t
    ), changed AS (
      UPDATE chat_teams t SET name = coalesce($5::text, t.name),
        assign = CASE WHEN $6::boolean THEN $7::text ELSE t.assign END,
        capacity = CASE WHEN $8::boolean THEN $9::bigint ELSE t.capacity END,
        overflow_after_minutes = CASE WHEN $10::boolean THEN $11::bigint
          ELSE t.overflow_after_minutes END,
        languages = CASE WHEN $12::text IS NULL THEN t.languages
          ELSE coalesce(string_to_array(nullif($12::text, ''), E'\\n'), '{}') END,
        hours = CASE WHEN $13::boolean THEN $14::jsonb ELSE t.hours END,
        first_response_minutes = CASE WHEN $15::boolean THEN $16::bigint
          ELSE t.first_response_minutes END,
        resolution_minutes = CASE WHEN $17::boolean THEN $18::bigint ELSE t.resolution_minutes END
      FROM verdict v WHERE v.word = 'done' AND t.workspace_id = $1::uuid AND t.id = v.id
      RETURNING t.id, t.name
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
      SELECT $1::uuid, $2::uuid, $3::text, 'team.changed', id, jsonb_build_object('name', name)
      FROM changed
    )
    SELECT word FROM verdict
    """

  /// Replaces the members. False, without a change, if one is not a member of the workspace; nil if
  /// it has no such team. Under the lock of the queue: no conversation is assigned to a member who
  /// has left when the answer comes.
  public static func setMembers(
    _ members: [Identifier], of id: Identifier, by actor: AuditActor
  ) -> Statement<Bool?> {
    Statement(
      Query(membersSQL, actor.parameters + [.uuid(id), .uuids(members)])
        .after(.members(of: actor.workspace), .queue(of: actor.workspace))
    ) { rows in rows.isEmpty ? nil : (rows.bool(0, 0) ?? false) }
  }

  private static let membersSQL: SQL = """
    WITH target AS (
      SELECT id, name FROM chat_teams WHERE workspace_id = $1::uuid AND id = $4::uuid FOR UPDATE
    ), wanted AS (
      SELECT DISTINCT w.id FROM unnest($5::uuid[]) AS w (id)
    ), verdict AS (
      SELECT t.id, t.name, NOT EXISTS (SELECT FROM wanted w WHERE NOT EXISTS (SELECT
        FROM memberships m WHERE m.workspace_id = $1::uuid AND m.operator_id = w.id)) AS is_valid
      FROM target t
    ), removed AS (
      DELETE FROM chat_team_members m USING verdict v
      WHERE v.is_valid AND m.workspace_id = $1::uuid AND m.team_id = v.id
        AND m.operator_id NOT IN (SELECT id FROM wanted)
    ), added AS (
      INSERT INTO chat_team_members (workspace_id, team_id, operator_id)
      SELECT $1::uuid, v.id, w.id FROM verdict v, wanted w WHERE v.is_valid ORDER BY w.id
      ON CONFLICT (workspace_id, team_id, operator_id) DO NOTHING
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
      SELECT $1::uuid, $2::uuid, $3::text, 'team.members_changed', v.id,
        jsonb_build_object('name', v.name, 'members', (SELECT count(*) FROM wanted))
      FROM verdict v WHERE v.is_valid
    )
    SELECT is_valid FROM verdict
    """

  /// Gives conversations of a visitor to a team, by its id or name, before their first message. An
  /// unknown team changes nothing: a page may name one that was deleted. Returns the conversations
  /// that have changed.
  ///
  /// - Parameter isRule: a rule of the workspace, which replaces no choice.
  public static func choose(
    _ team: String, for sessions: [Identifier], isRule: Bool, in workspace: Identifier
  ) -> Statement<[Identifier]> {
    Statement(
      Query(chooseSQL, [.uuid(workspace), .uuids(sessions), .text(team), .bool(isRule)])
    ) { rows in
      (0..<rows.count).compactMap { rows.uuid($0, 0) }
    }
  }

  private static let chooseSQL: SQL = """
    WITH team AS MATERIALIZED (
      \(TeamChoice.team(named: "$3::text", in: "$1::uuid"))
    ), target AS MATERIALIZED (
      SELECT s.id FROM chat_sessions s
      WHERE s.workspace_id = $1::uuid AND s.id = ANY ($2::uuid[]) AND s.last_seq = 0
        AND \(ConversationQueue.isUnclaimed("s"))
      ORDER BY s.id FOR UPDATE
    )
    UPDATE chat_sessions s SET team_id = t.id, team_since = clock_timestamp()
    FROM team t, target g
    WHERE s.workspace_id = $1::uuid AND s.id = g.id AND s.team_id IS DISTINCT FROM t.id
      AND (s.team_id IS NULL OR NOT $4::boolean)
    RETURNING s.id
    """

  /// The team that speaks the language of a visitor, see `TeamChoice`.
  public static func speaking(
    _ locale: String, in workspace: Identifier
  ) -> Statement<Identifier?> {
    Statement(
      Query(
        TeamChoice.team(speaking: "$2::text", in: "$1::uuid"), [.uuid(workspace), .text(locale)])
    ) { $0.isEmpty ? nil : $0.uuid(0, 0) }
  }

  /// Whether an operator may answer the conversation soon. Its team must be within its hours, and
  /// a member must be available, or any operator if the team's conversations overflow. Without a
  /// team the workspace must be within its hours, and an operator must be available.
  ///
  /// - Parameter isOpen: during the workspace's business hours.
  public static func serve(
    _ session: Identifier, of workspace: Identifier, isOpen: Bool, now: WallTime
  ) -> Statement<Bool> {
    Statement(
      Query(serveSQL, [.uuid(workspace), .uuid(session), .bool(isOpen), .time(now)])
    ) { !$0.isEmpty && $0.bool(0, 0) == true }
  }

  private static let serveSQL: SQL = """
    SELECT CASE WHEN t.id IS NULL THEN $3::boolean AND chirrup_is_anybody_available($1::uuid)
      ELSE CASE WHEN t.hours IS NULL THEN $3::boolean
          ELSE chirrup_is_open(t.hours, $4::timestamptz) END
        AND (chirrup_is_team_available($1::uuid, t.id) OR t.overflow_after_minutes IS NOT NULL
          AND chirrup_is_anybody_available($1::uuid)) END
    FROM chat_sessions s
    LEFT JOIN chat_teams t ON t.workspace_id = $1::uuid AND t.id = s.team_id
    WHERE s.workspace_id = $1::uuid AND s.id = $2::uuid
    """

  public static func exists(_ id: Identifier, in workspace: Identifier) -> Statement<Bool> {
    Statement(
      Query(
        "SELECT id FROM chat_teams WHERE workspace_id = $1::uuid AND id = $2::uuid",
        [.uuid(workspace), .uuid(id)])
    ) { !$0.isEmpty }
  }

  /// The names of the teams, for the form before the chat.
  public static func names(in workspace: Identifier) -> Statement<[String]> {
    Statement(
      Query(
        "SELECT name FROM chat_teams WHERE workspace_id = $1::uuid ORDER BY name LIMIT $2::bigint",
        [.uuid(workspace), .int(countMax)])
    ) { rows in (0..<rows.count).compactMap { rows.text($0, 0) } }
  }

  /// Takes conversations out of a team before it is deleted, and returns the
  /// ids of those that are not closed. Their rows are locked in the order of their ids, as a batch
  /// of messages does.
  public static func release(
    _ id: Identifier, in workspace: Identifier
  ) -> Statement<(count: Int64, open: [Identifier])> {
    Statement(
      Query(releaseSQL, [.uuid(workspace), .uuid(id), .int(releasedMax)])
    ) { rows in
      let open = (0..<rows.count).compactMap {
        rows.bool($0, 1) == true ? rows.uuid($0, 0) : nil
      }
      return (Int64(rows.count), open)
    }
  }

  private static let releaseSQL: SQL = """
    WITH page AS MATERIALIZED (
      SELECT s.id FROM chat_sessions s
      WHERE s.workspace_id = $1::uuid AND s.team_id = $2::uuid LIMIT $3::bigint
    ), target AS MATERIALIZED (
      SELECT s.id FROM page p JOIN chat_sessions s ON s.id = p.id
      WHERE s.workspace_id = $1::uuid ORDER BY s.id FOR UPDATE OF s
    ), noted AS (
      INSERT INTO chat_analytics_pending (workspace_id, session_id)
      SELECT $1::uuid, t.id FROM target t
    )
    UPDATE chat_sessions s SET team_id = NULL, team_since = NULL
    FROM target t WHERE s.workspace_id = $1::uuid AND s.id = t.id
    RETURNING s.id, s.status <> 'closed'
    """

  /// Deletes a team; false if it does not exist. Conversations that it got meanwhile lose it too.
  public static func delete(_ id: Identifier, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM chat_teams WHERE workspace_id = $1::uuid AND id = $4::uuid
          RETURNING id, name
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'team.deleted', id, jsonb_build_object('name', name)
        FROM gone RETURNING id
        """, actor.parameters + [.uuid(id)]
      ).after(.members(of: actor.workspace), .queue(of: actor.workspace))
    ) { !$0.isEmpty }
  }
}

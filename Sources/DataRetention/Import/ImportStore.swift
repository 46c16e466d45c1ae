/// The statements that store imported rows. `$1` is the workspace, `$2` a JSON array of rows. Each
/// adds what is missing: a row of the same id stays as it is, except that messages are appended to
/// their conversation, under the lock of its row.
import Directory
import Postgres
import Primitives
import SharedSQL

enum ImportStore {
  /// Visitors of an earlier import that were erased.
  static let erased: SQL = """
    SELECT DISTINCT target_id FROM audit_log
    WHERE workspace_id = $1 AND action = 'visitor.erased' AND target_id IS NOT NULL
    """

  /// Columns: contact, its visitor or null, whether the visitor of its conversations was erased.
  static let visitorsOf: SQL = """
    SELECT g.contact, coalesce(o.id, v.id), EXISTS (SELECT FROM chat_sessions s
      WHERE s.workspace_id = $1 AND s.user_id IS NULL
        AND s.id IN (SELECT value::uuid FROM jsonb_array_elements_text(g.sessions)))
    FROM jsonb_to_recordset($2) AS g (contact text, id uuid, external_id text, sessions jsonb)
    LEFT JOIN visitors o ON o.workspace_id = $1 AND o.external_id = g.external_id
    LEFT JOIN visitors v ON v.workspace_id = $1 AND v.id = g.id
    """

  static let visitors: SQL = """
    INSERT INTO visitors (id, workspace_id, external_id, name, email, attributes, banned_at,
      created_at, last_seen_at)
    SELECT id, $1, external_id, name, email, attributes, banned_at, created_at, last_seen_at
    FROM jsonb_to_recordset($2) AS g (id uuid, external_id text, name text, email text,
      attributes jsonb, banned_at timestamptz, created_at timestamptz, last_seen_at timestamptz)
    ON CONFLICT DO NOTHING
    """

  /// Parameters: workspace, derived id, e-mail address, name, role, time of creation, maximum of
  /// members. An account with this address is used as it is. A membership is made once: nobody who
  /// was removed comes back with a later run. Columns: the operator who is a member now, name,
  /// whether the account was made, whether the membership was made.
  static let member: SQL = """
    WITH found AS (
      SELECT id, name FROM operators WHERE lower(email) = lower($3)
    ), made AS (
      INSERT INTO operators (id, email, name, created_at)
      SELECT $2, $3, $4, coalesce($6::timestamptz, now()) WHERE NOT EXISTS (SELECT FROM found)
        AND (SELECT count(*) FROM memberships WHERE workspace_id = $1) < $7
      ON CONFLICT DO NOTHING RETURNING id, name
    ), person AS (
      SELECT * FROM found UNION ALL SELECT * FROM made
    ), joined AS (
      INSERT INTO memberships (workspace_id, operator_id, role)
      SELECT $1, id, $5 FROM person
      WHERE (SELECT count(*) FROM memberships WHERE workspace_id = $1) < $7
        AND NOT EXISTS (SELECT FROM audit_log a WHERE a.workspace_id = $1
          AND a.action = 'member.added' AND a.target_id = person.id)
        AND (person.id <> $2 OR EXISTS (SELECT FROM made))
      ON CONFLICT DO NOTHING RETURNING operator_id
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
      SELECT $1, 'command', 'member.added', operator_id, jsonb_build_object('role', $5)
      FROM joined
    )
    SELECT p.id, p.name, EXISTS (SELECT FROM made), EXISTS (SELECT FROM joined)
    FROM person p WHERE EXISTS (SELECT FROM joined) OR EXISTS (SELECT FROM memberships m
      WHERE m.workspace_id = $1 AND m.operator_id = p.id)
    """

  /// Returns the rows that `member` would return, and changes nothing.
  static let memberPlan: SQL = """
    WITH found AS (
      SELECT id, name FROM operators WHERE lower(email) = lower($3)
    ), is_member AS (
      SELECT id FROM found WHERE EXISTS (SELECT FROM memberships m
        WHERE m.workspace_id = $1 AND m.operator_id = found.id)
    ), is_new AS (
      SELECT NOT EXISTS (SELECT FROM is_member) AND NOT EXISTS (SELECT FROM found WHERE id = $2)
        AND NOT EXISTS (SELECT FROM audit_log a JOIN found ON a.target_id = found.id
          WHERE a.workspace_id = $1 AND a.action = 'member.added')
        AND (SELECT count(*) FROM memberships WHERE workspace_id = $1) < $7
        AND $5::text IS NOT NULL AND ($6::timestamptz IS NULL OR true) AS value
    )
    SELECT coalesce((SELECT id FROM found), $2), coalesce((SELECT name FROM found), $4::text),
      is_new.value AND NOT EXISTS (SELECT FROM found), is_new.value
    FROM is_new WHERE is_new.value OR EXISTS (SELECT FROM is_member)
    """

  /// Parameters: workspace, derived id, name, maximum of teams, whether it is stored. A team of
  /// this name is used as it is; one that was deleted after an import does not come back. Columns:
  /// the team's id, whether it was made. No row: it may not be made.
  static let team: SQL = """
    WITH found AS (
      SELECT id FROM chat_teams WHERE workspace_id = $1 AND (id = $2 OR name = $3)
      ORDER BY id <> $2 LIMIT 1
    ), fresh AS (
      SELECT $2::uuid AS id WHERE NOT EXISTS (SELECT FROM found)
        AND NOT EXISTS (SELECT FROM audit_log a WHERE a.workspace_id = $1
          AND a.action = 'team.added' AND a.target_id = $2)
        AND (SELECT count(*) FROM chat_teams WHERE workspace_id = $1) < $4
    ), made AS (
      INSERT INTO chat_teams (id, workspace_id, name) SELECT id, $1, $3 FROM fresh WHERE $5
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
      SELECT $1, 'command', 'team.added', id, jsonb_build_object('name', $3::text)
      FROM fresh WHERE $5
    )
    SELECT id, false FROM found UNION ALL SELECT id, true FROM fresh
    """

  /// Parameters: workspace, team, operators. For a team that was made before in the transaction.
  static let teamMembers: SQL = """
    INSERT INTO chat_team_members (workspace_id, team_id, operator_id)
    SELECT $1, $2, m.operator_id FROM memberships m
    WHERE m.workspace_id = $1 AND m.operator_id = ANY ($3) ORDER BY m.operator_id
    ON CONFLICT DO NOTHING
    """

  /// Tags that the workspace lacks, as long as it may have more. Parameters: workspace, tags,
  /// maximum of tags, whether they are stored. Returns the number.
  static let tags: SQL = """
    WITH fresh AS (
      SELECT DISTINCT ON (g.name) g.name, g.colour
      FROM jsonb_to_recordset($2) AS g (name text, colour text)
      WHERE NOT EXISTS (SELECT FROM tags t WHERE t.workspace_id = $1 AND t.name = g.name)
      ORDER BY g.name, g.colour
      LIMIT greatest(0, $3 - (SELECT count(*) FROM tags WHERE workspace_id = $1))
    ), made AS (
      INSERT INTO tags (workspace_id, name, colour) SELECT $1, name, colour FROM fresh WHERE $4
      ON CONFLICT DO NOTHING
    )
    SELECT count(*) FROM fresh
    """

  /// Parameters: workspace, replies, whether they are stored. Returns the number.
  static let replies: SQL = """
    WITH fresh AS (
      SELECT DISTINCT ON (g.shortcut) g.name, g.shortcut,
        jsonb_build_object('text', g.body) AS payload
      FROM jsonb_to_recordset($2) AS g (n bigint, name text, shortcut text, body text)
      WHERE NOT EXISTS (SELECT FROM reply_objects r WHERE r.workspace_id = $1
        AND (r.object_id = g.name OR r.shortcut = g.shortcut))
      ORDER BY g.shortcut, g.n
    ), made AS (
      INSERT INTO reply_objects (workspace_id, object_id, object_type, payload, shortcut)
      SELECT $1, name, 'text', payload, shortcut FROM fresh WHERE $3 ON CONFLICT DO NOTHING
    )
    SELECT count(*) FROM fresh
    """

  /// Columns: conversations of these that exist, and whether messages may be added to them.
  static let knownSessions: SQL = """
    SELECT id, deleted_at IS NULL FROM chat_sessions WHERE workspace_id = $1 AND id = ANY ($2)
    """

  /// An open conversation enters the queue with its first message, as any other does.
  static let sessions: SQL = """
    INSERT INTO chat_sessions (id, workspace_id, user_id, title, status, created_at, updated_at,
      assigned_operator_id, operator_name, queued_at, claimed_at, closed_at,
      \(ConversationQueue.entryTime), channel, context, team_id, team_since)
    SELECT id, $1, visitor, '', status, created_at, updated_at, operator, operator_name,
      CASE WHEN operator IS NOT NULL THEN created_at END,
      CASE WHEN operator IS NOT NULL THEN created_at END,
      CASE status WHEN 'closed' THEN greatest(created_at, updated_at) END,
      \(ConversationQueue.outside), channel, context, team,
      CASE WHEN team IS NOT NULL THEN created_at END
    FROM jsonb_to_recordset($2) AS g (id uuid, visitor uuid, status text, created_at timestamptz,
      updated_at timestamptz, operator uuid, operator_name text, channel text, context jsonb,
      team uuid)
    ORDER BY id ON CONFLICT DO NOTHING
    """

  static let sessionTags: SQL = """
    INSERT INTO session_tags (workspace_id, session_id, tag)
    SELECT $1, g.session, t.name FROM jsonb_to_recordset($2) AS g (session uuid, tag text)
    JOIN tags t ON t.workspace_id = $1 AND t.name = g.tag
    ON CONFLICT DO NOTHING
    """

  /// Gateways and applications number messages under the same lock.
  static let lock: SQL = """
    SELECT id FROM chat_sessions WHERE workspace_id = $1 AND id = ANY ($2) ORDER BY id FOR UPDATE
    """

  static let knownMessages: SQL =
    "SELECT id FROM chats WHERE workspace_id = $1 AND id = ANY ($2)"

  /// Numbers continue after the conversation's last one. Returns nothing; every row is stored.
  static let messages: SQL = """
    WITH fresh AS MATERIALIZED (
      SELECT g.*, s.user_id,
        s.last_seq + row_number() OVER (PARTITION BY s.id ORDER BY g.n) AS seq,
        g.kind = 'text' AS shown
      FROM jsonb_to_recordset($2) AS g (n bigint, id uuid, session uuid, role text, kind text,
        body text, operator uuid, name text, at timestamptz)
      JOIN chat_sessions s ON s.workspace_id = $1 AND s.id = g.session
    ), noted AS (
      UPDATE chat_sessions s SET last_seq = f.last, message_count = s.message_count + f.count,
        created_at = least(s.created_at, f.first),
        last_message_at = greatest(s.last_message_at, f.at),
        last_message_preview = coalesce(left(f.preview, 120), s.last_message_preview),
        last_message_role = coalesce(f.role, s.last_message_role),
        closed_at = CASE s.status WHEN 'closed' THEN greatest(s.closed_at, f.latest) END,
        first_response_at = coalesce(s.first_response_at, f.response),
        \(ConversationQueue.enter("s", at: "f.shown"))
      FROM (
        SELECT session, max(seq) AS last, count(*) FILTER (WHERE shown) AS count,
          min(at) AS first, max(at) AS latest, min(at) FILTER (WHERE shown) AS shown,
          max(at) FILTER (WHERE shown) AS at,
          min(at) FILTER (WHERE shown AND role = 'operator') AS response,
          (array_agg(body ORDER BY seq DESC) FILTER (WHERE shown))[1] AS preview,
          (array_agg(role ORDER BY seq DESC) FILTER (WHERE shown))[1] AS role
        FROM fresh GROUP BY session) AS f
      WHERE s.workspace_id = $1 AND s.id = f.session
    )
    INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, user_id,
      operator_id, operator_name, content_hash, created_at)
    SELECT id, $1, session, seq, role, kind, body, CASE role WHEN 'visitor' THEN user_id END,
      operator, name, \(ContentHash.of(kind: "kind", payload: "NULL", content: "body")), at
    FROM fresh ORDER BY session, seq
    """

  /// Payloads as gateways notify each other (`PeerNotifier`): sessions of a workspace, whose queue
  /// has moved too. A payload has less than 8,000 bytes, and a session 38 of them.
  static let announcement: SQL = """
    SELECT count(pg_notify('chirrup',
      concat('00000000-0000-0000-0000-000000000000 w', $1::uuid, g.words, ' q'))::text)
    FROM (
      SELECT string_agg(' s' || n.id, '') AS words FROM (
        SELECT id, row_number() OVER () / 200 AS part FROM unnest($2::uuid[]) AS id) AS n
      GROUP BY part) AS g
    """

  /// Everything until the time at which a party last looked is read. A mark only grows.
  static let marks: SQL = """
    INSERT INTO read_marks AS m
      (workspace_id, session_id, person_id, role, name, read_seq, delivered_seq)
    SELECT $1, s.id, p.person, p.role, p.name, r.seq, r.seq
    FROM jsonb_to_recordset($2) AS g (session uuid, visitor_at timestamptz,
      operator_at timestamptz)
    JOIN chat_sessions s ON s.workspace_id = $1 AND s.id = g.session AND s.deleted_at IS NULL
    LEFT JOIN visitors v ON v.workspace_id = $1 AND v.id = s.user_id
    CROSS JOIN LATERAL (VALUES (v.id, 'visitor', v.name, g.visitor_at),
      (s.assigned_operator_id, 'operator', s.operator_name, g.operator_at))
      AS p (person, role, name, at)
    CROSS JOIN LATERAL (SELECT max(c.seq) AS seq FROM chats c WHERE c.workspace_id = $1
      AND c.session_id = s.id AND c.created_at <= p.at) AS r
    WHERE p.person IS NOT NULL AND r.seq > 0
    ON CONFLICT (workspace_id, session_id, person_id) DO UPDATE
      SET read_seq = excluded.read_seq,
        delivered_seq = greatest(m.delivered_seq, excluded.delivered_seq)
      WHERE m.read_seq < excluded.read_seq
    """

  /// Parameters: workspace, ratings, whether they are stored. Returns the number of those that
  /// their conversations lack.
  static let ratings: SQL = """
    WITH fresh AS (
      SELECT g.*, s.user_id FROM jsonb_to_recordset($2) AS g (session uuid, rating smallint,
        comment text, operator uuid, at timestamptz)
      LEFT JOIN chat_sessions s ON s.workspace_id = $1 AND s.id = g.session
      WHERE NOT EXISTS (SELECT FROM csat_responses r
        WHERE r.workspace_id = $1 AND r.session_id = g.session)
    ), made AS (
      INSERT INTO csat_responses (workspace_id, session_id, visitor_id, operator_id, rating,
        comment, created_at)
      SELECT $1, f.session, v.id, f.operator, f.rating, f.comment, f.at
      FROM fresh f LEFT JOIN visitors v ON v.workspace_id = $1 AND v.id = f.user_id WHERE $3
      ON CONFLICT DO NOTHING
    )
    SELECT count(*) FROM fresh
    """
}

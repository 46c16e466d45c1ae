/// Generated conversations of a shop, from the templates of `DemoData`. The server draws and writes
/// them.
import Directory
import Postgres
import Primitives
import SharedSQL

struct GeneratedConversations {
  var workspace: Identifier
  var count: Int
  /// The latest ones are open, and a tenth of these wait.
  var open: Int
  /// The same seed draws the same conversations.
  var seed: Int
  var teams: [DemoData.Team]
  var colleagues: [DemoData.Colleague]

  /// Conversations per transaction: small enough to report progress and to let other writers in.
  private static let batch = 2_000

  /// - Parameters:
  ///   - connection: of the tables' owner, for ANALYZE.
  ///   - report: receives the number of conversations after each transaction.
  func create(_ connection: BlockingConnection, report: (Int) -> Void) throws {
    // Generated conversations must not trigger webhooks.
    try connection.execute(script: "SET chirrup.webhooks = 'off'; " + DemoData.templates)
    for team in teams {
      try connection.run(
        Query(
          Self.team,
          [
            .uuid(workspace), .text(team.name), .int(Int64(team.firstResponse)),
            .int(Int64(team.resolution)),
          ]))
    }
    for colleague in colleagues {
      try connection.run(
        Query(
          Self.colleague,
          [
            .uuid(workspace), .text(colleague.name), .int(Int64(colleague.share)),
            .text("\(colleague.slowness)"), .text("\(colleague.harshness)"),
            .text(colleague.team),
          ]))
    }
    try connection.run(Query(Self.shares, []))
    try connection.run(Query(DemoData.hours, [.uuid(workspace)]))
    try connection.run(Query(Self.tags, [.uuid(workspace)]))
    try connection.execute(script: "ANALYZE demo_hours; ANALYZE demo_staff")
    for first in stride(from: 1, through: count, by: Self.batch) {
      let last = min(first + Self.batch - 1, count)
      try connection.transaction { connection in
        try connection.run(Query(Self.seeding, [.int(Int64(seed)), .int(Int64(first))]))
        try connection.run(
          Query(
            Self.draw,
            [
              .uuid(workspace), .int(Int64(first)), .int(Int64(last)), .int(Int64(count)),
              .int(Int64(open)),
            ]))
        for statement in Self.writing {
          try connection.run(Query(statement, [.uuid(workspace)]))
        }
        try connection.execute(script: "TRUNCATE demo_rows")
      }
      report(last)
    }
    try connection.execute(
      script: """
        DROP TABLE demo_people, demo_places, demo_agents, demo_teams, demo_staff, demo_hours,
          demo_rows;
        RESET chirrup.webhooks; ANALYZE visitors; ANALYZE chat_sessions; ANALYZE chats
        """)
    // One recount is faster than the gateway, which counts conversation by conversation.
    _ = try connection.run(Analytics.recompute(workspace))
  }

  /// Creates a team once, with its targets.
  private static let team: StaticString = """
    WITH made AS (
      INSERT INTO chat_teams (workspace_id, name, first_response_minutes, resolution_minutes)
      VALUES ($1::uuid, $2::text, $3::bigint, $4::bigint) ON CONFLICT DO NOTHING RETURNING id
    )
    INSERT INTO demo_teams
    SELECT t.id, $2::text, $3::bigint, $4::bigint FROM (
      SELECT id FROM made
      UNION SELECT id FROM chat_teams WHERE workspace_id = $1::uuid AND name = $2::text) AS t
    """

  /// Creates a generated operator once per installation, adds them to the workspace and to a team,
  /// and notes their share of the conversations (in `high`, until `shares` has run) and their ways.
  private static let colleague: StaticString = """
    WITH made AS (
      INSERT INTO operators (email, name)
      VALUES (lower($2::text) || '@demo.example', $2::text)
      ON CONFLICT DO NOTHING RETURNING id
    ), all_of_them AS (
      SELECT id FROM made
      UNION SELECT id FROM operators WHERE lower(email) = lower($2::text) || '@demo.example'
    ), joined AS (
      INSERT INTO memberships (workspace_id, operator_id) SELECT $1::uuid, id FROM all_of_them
      ON CONFLICT DO NOTHING
    ), placed AS (
      INSERT INTO chat_team_members (workspace_id, team_id, operator_id)
      SELECT $1::uuid, t.id, o.id FROM all_of_them o JOIN demo_teams t ON t.name = $6::text
      ON CONFLICT DO NOTHING
    )
    INSERT INTO demo_staff
    SELECT o.id, $2::text, $4::text::float8, $5::text::float8, 0, $3::bigint,
      (SELECT t.id FROM demo_teams t WHERE t.name = $6::text)
    FROM all_of_them o
    """

  /// Each operator gets the part of [0, 1) that is their share.
  private static let shares: StaticString = """
    UPDATE demo_staff d SET low = s.high - s.share, high = s.high FROM (
      SELECT name, high / sum(high) OVER () AS share,
        sum(high) OVER (ORDER BY high DESC, name) / sum(high) OVER () AS high
      FROM demo_staff) AS s
    WHERE s.name = d.name
    """

  /// A batch draws the same whatever ran before it.
  private static let seeding: StaticString =
    "SELECT setseed((($1::bigint * 7919 + $2::bigint) % 1000003) / 1000003.0)"

  private static let tags: StaticString = """
    INSERT INTO tags (workspace_id, name)
    SELECT DISTINCT $1::uuid, tag FROM demo_places ON CONFLICT DO NOTHING
    """

  /// Draws visitor, operator, time and topic of each conversation; a higher number is later. The
  /// last `$5` are open, and the last tenth of these waits. The three before that tenth are
  /// assigned to the first real member. Response and closing times are distributed exponentially:
  /// longer in busy hours and with slower operators. Visitors who waited long give fewer stars. One
  /// in twenty closed conversations went from one operator to another after the first reply. A
  /// closed conversation belongs to the team of its operator. Open ones belong to none, so that
  /// every operator gets them.
  private static let draw: StaticString = """
    WITH languages AS (
      SELECT p.n, p.names, row_number() OVER (ORDER BY p.n, g) - 1 AS place,
        count(*) OVER () AS places
      FROM demo_people p, generate_series(1, p.weight) AS g
    ), owner AS (
      SELECT o.id, o.name FROM memberships m JOIN operators o ON o.id = m.operator_id
      WHERE m.workspace_id = $1::uuid AND o.email NOT LIKE '%@demo.example'
      ORDER BY m.created_at, o.id LIMIT 1
    ), drawn AS (
      SELECT i AS n, gen_random_uuid() AS id, gen_random_uuid() AS visitor,
        CASE WHEN i <= $4::bigint - $5::bigint THEN 'closed'
          WHEN i > $4::bigint - ceil($5::bigint / 10.0) THEN 'waiting' ELSE 'active' END AS status,
        random() AS language, random() AS person, 1 + floor(random() * 4)::int AS talk,
        1 + floor(random() * 8)::int AS place, 1 + floor(random() * 4)::int AS agent,
        random() AS named, -ln(1 - random() * 0.999) AS slow, -ln(1 - random() * 0.999) AS long,
        random() AS jitter, random() AS staff, random() AS other, random() AS moved,
        random() AS rated, -ln(1 - random() * 0.999) AS anger
      FROM generate_series($2::bigint, $3::bigint) AS i
    ), timed AS (
      SELECT d.*, coalesce(h.busy, 0.5) AS busy, CASE d.status
        WHEN 'waiting' THEN now() - (($4::bigint - d.n + d.jitter) * 17) * interval '1 second'
        WHEN 'active' THEN now() - interval '12 minutes'
          - ($4::bigint - d.n + d.jitter) * least(40, 1200.0 / greatest(1, $5::bigint))
            * interval '1 second'
        ELSE h.at + (d.position - h.low) / (h.high - h.low) * interval '1 hour' END AS created_at
      FROM (
        SELECT *, (n - 1 + jitter) / greatest(1, $4::bigint - $5::bigint)::float8 AS position
        FROM drawn
      ) AS d
      LEFT JOIN LATERAL (
        SELECT * FROM demo_hours WHERE low <= d.position ORDER BY low DESC LIMIT 1
      ) AS h ON d.status = 'closed'
    ), answered AS (
      SELECT t.*, s.id AS operator_id, s.name AS operator_name, s.harshness,
        t.slow * s.slowness * (15 + 60 * t.busy * t.busy) * interval '1 second' AS claim,
        t.long * s.slowness * 30 * interval '1 second' AS reply
      FROM timed t CROSS JOIN LATERAL (
        SELECT id, name, 1::float8 AS slowness, 0::float8 AS harshness FROM owner
        WHERE t.status = 'active' AND t.n > $4::bigint - ceil($5::bigint / 10.0) - 3
        UNION ALL
        (SELECT id, name, slowness, harshness FROM demo_staff
          WHERE low <= t.staff ORDER BY low DESC LIMIT 1)
        LIMIT 1
      ) AS s
    )
    INSERT INTO demo_rows
    SELECT t.n, t.id, t.visitor, t.status, l.n, t.talk,
      CASE WHEN t.named < 0.8
        THEN l.names[1 + floor(t.person * cardinality(l.names))::int] ELSE '' END,
      t.place, t.agent,
      CASE WHEN t.status <> 'waiting' THEN coalesce(o.id, t.operator_id) END,
      CASE WHEN t.status <> 'waiting' THEN coalesce(o.name, t.operator_name) END,
      CASE WHEN t.status <> 'waiting' THEN t.operator_id END,
      CASE WHEN t.status <> 'waiting' THEN t.operator_name END, t.created_at,
      CASE WHEN t.status <> 'waiting' THEN t.created_at + t.claim END,
      CASE WHEN t.status <> 'waiting' THEN t.created_at + t.claim + t.reply END,
      CASE WHEN t.status = 'closed' THEN t.created_at + t.claim + t.reply
        + (2 + t.long * 6) * interval '1 minute' END,
      CASE t.status WHEN 'waiting' THEN 1 WHEN 'active' THEN 2 + floor(t.jitter * 2)::int
        ELSE 4 END,
      CASE WHEN t.status = 'closed' AND t.rated < 0.35 THEN greatest(1, 5 - floor(t.anger
        * (t.harshness + CASE WHEN t.claim > interval '90 seconds' THEN 0.6 ELSE 0 END))::int) END,
      (o.id IS NOT NULL)::int,
      CASE WHEN t.status = 'closed' THEN (
        SELECT d.team FROM demo_staff d WHERE d.id = coalesce(o.id, t.operator_id)) END
    FROM answered t
    JOIN languages l ON l.place = floor(t.language * l.places)
    LEFT JOIN LATERAL (
      SELECT id, name FROM demo_staff WHERE low <= t.other ORDER BY low DESC LIMIT 1
    ) AS o ON t.status = 'closed' AND t.moved < 0.05 AND o.id <> t.operator_id
    """

  private static let writing: [SQL] = [
    """
    INSERT INTO visitors (id, workspace_id, name, email, attributes, created_at, last_seen_at)
    SELECT r.visitor, $1::uuid, r.name,
      CASE WHEN r.name <> '' AND r.n % 3 = 0 THEN 'visitor' || r.n || '@example.com' END,
      CASE WHEN r.n % 4 = 0 THEN jsonb_build_object('orders', r.n % 17,
        'plan', (ARRAY['basic', 'plus', 'trade'])[1 + r.n % 3]) ELSE '{}' END,
      r.created_at, coalesce(r.closed_at, now())
    FROM demo_rows r ORDER BY r.n
    """,
    """
    INSERT INTO chat_sessions (id, workspace_id, user_id, status, created_at, updated_at,
      assigned_operator_id, operator_name, last_seq, last_message_at, last_message_preview,
      last_message_role, message_count, \(ConversationQueue.entryTime), claimed_at,
      first_response_at, closed_at, closed_by, team_id, team_since, context)
    SELECT r.id, $1::uuid, r.visitor, r.status, r.created_at,
      CASE r.status WHEN 'closed' THEN r.closed_at WHEN 'waiting' THEN r.created_at
        ELSE r.replied_at + (r.shown - 2) * interval '50 seconds' END,
      r.operator_id, r.operator_name,
      r.shown + (r.status <> 'waiting')::int + r.moved + (r.status = 'closed')::int,
      CASE WHEN r.shown = 1 THEN r.created_at
        ELSE r.replied_at + (r.shown - 2) * interval '50 seconds' END,
      left(p.lines[r.talk][r.shown], 120),
      CASE WHEN r.shown % 2 = 1 THEN 'visitor' ELSE 'operator' END, r.shown,
      CASE WHEN r.status = 'waiting' THEN r.created_at END, r.claimed_at, r.replied_at, r.closed_at,
      CASE WHEN r.status = 'closed' THEN r.operator_id END,
      r.team, CASE WHEN r.team IS NOT NULL THEN r.created_at END,
      jsonb_build_object('page', 'https://shop.example' || l.page, 'title', l.title,
        'locale', p.locale, 'timezone', p.zone, 'user_agent', a.agent,
        'referrer', CASE WHEN r.n % 3 = 0 THEN 'https://www.search.example/' ELSE '' END)
    FROM demo_rows r JOIN demo_people p ON p.n = r.people JOIN demo_places l ON l.n = r.place
      JOIN demo_agents a ON a.n = r.agent
    ORDER BY r.n
    """,
    // The log: the visitor's first line, the claim, the first reply, perhaps the transfer, the
    // other lines, the closing.
    """
    INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload, user_id,
      operator_id, operator_name, content_hash, created_at)
    SELECT gen_random_uuid(), $1::uuid, e.id, e.seq, e.role, e.kind, e.content, e.payload,
      CASE WHEN e.role = 'visitor' THEN e.visitor END,
      CASE WHEN e.role = 'operator' THEN e.operator_id END,
      CASE WHEN e.role = 'operator' THEN e.operator_name END,
      \(ContentHash.of(kind: "e.kind", payload: "e.payload", content: "e.content")), e.at
    FROM (
      SELECT r.n, r.id, r.visitor, CASE WHEN i > 2 THEN r.operator_id ELSE r.first_id END
          AS operator_id,
        CASE WHEN i > 2 THEN r.operator_name ELSE r.first_name END AS operator_name,
        i + (i > 1)::int + (i > 2)::int * r.moved AS seq,
        CASE WHEN i % 2 = 1 THEN 'visitor' ELSE 'operator' END AS role, 'text' AS kind,
        p.lines[r.talk][i] AS content, NULL::jsonb AS payload,
        CASE WHEN i = 1 THEN r.created_at
          ELSE r.replied_at + (i - 2) * interval '50 seconds' END AS at
      FROM demo_rows r JOIN demo_people p ON p.n = r.people, generate_series(1, r.shown) AS i
      UNION ALL
      SELECT r.n, r.id, r.visitor, r.first_id, r.first_name, 2, 'system', 'event',
        r.first_name || ' joined', jsonb_build_object('event', 'claimed', 'operator',
          jsonb_build_object('id', r.first_id, 'name', r.first_name)), r.claimed_at
      FROM demo_rows r WHERE r.status <> 'waiting'
      UNION ALL
      SELECT r.n, r.id, r.visitor, r.first_id, r.first_name, 4, 'system', 'event',
        r.first_name || ' transferred the conversation to ' || r.operator_name,
        jsonb_build_object('event', 'transferred',
          'from', jsonb_build_object('id', r.first_id, 'name', r.first_name),
          'to', jsonb_build_object('id', r.operator_id, 'name', r.operator_name),
          'by', jsonb_build_object('id', r.first_id, 'name', r.first_name)),
        r.replied_at + interval '20 seconds'
      FROM demo_rows r WHERE r.moved = 1
      UNION ALL
      SELECT r.n, r.id, r.visitor, r.operator_id, r.operator_name, r.shown + 2 + r.moved, 'system',
        'event',
        r.operator_name || ' closed the conversation', jsonb_build_object('event', 'closed', 'by',
          jsonb_build_object('id', r.operator_id, 'name', r.operator_name)), r.closed_at
      FROM demo_rows r WHERE r.status = 'closed'
    ) AS e ORDER BY e.n, e.seq
    """,
    // Read marks: in some conversations the last messages are unread, for operators and visitors.
    """
    INSERT INTO read_marks
      (workspace_id, session_id, person_id, role, name, read_seq, delivered_seq)
    SELECT $1::uuid, r.id, r.operator_id, 'operator', r.operator_name,
      CASE WHEN r.status = 'active' AND r.n % 4 = 0 THEN 3 ELSE r.shown + 1 + r.moved END,
      r.shown + 1 + r.moved
    FROM demo_rows r WHERE r.operator_id IS NOT NULL
    UNION ALL
    SELECT $1::uuid, r.id, r.visitor, 'visitor', r.name,
      r.shown + 1 + r.moved - (r.n % 3 = 0)::int, r.shown + 1 + r.moved
    FROM demo_rows r WHERE r.operator_id IS NOT NULL
    """,
    """
    INSERT INTO session_tags (workspace_id, session_id, tag)
    SELECT $1::uuid, r.id, l.tag FROM demo_rows r JOIN demo_places l ON l.n = r.place
    WHERE r.n % 5 < 2 AND r.status <> 'waiting'
    """,
    // The targets of a shop that is always open.
    """
    INSERT INTO chat_targets (workspace_id, session_id, started_at, team_id,
      first_response_minutes, resolution_minutes, first_response_due_at, resolution_due_at,
      first_response_missed_at, resolution_missed_at, is_settled)
    SELECT $1::uuid, r.id, r.created_at, r.team, t.response, t.resolution, d.response,
      d.resolution, CASE WHEN r.replied_at > d.response THEN d.response END,
      CASE WHEN r.closed_at > d.resolution THEN d.resolution END, true
    FROM demo_rows r JOIN demo_teams t ON t.id = r.team CROSS JOIN LATERAL (
      SELECT r.created_at + t.response * interval '1 minute' AS response,
        r.created_at + t.resolution * interval '1 minute' AS resolution) AS d
    """,
    """
    INSERT INTO csat_responses
      (workspace_id, session_id, visitor_id, operator_id, rating, comment, created_at)
    SELECT $1::uuid, r.id, r.visitor, r.operator_id, r.rating,
      CASE WHEN r.n % 3 = 0 THEN p.moods[r.rating] END, r.closed_at + interval '40 seconds'
    FROM demo_rows r JOIN demo_people p ON p.n = r.people WHERE r.rating IS NOT NULL ORDER BY r.n
    """,
  ]
}

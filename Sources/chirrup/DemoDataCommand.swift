/// `chirrup demo-data`: fills a workspace with generated conversations, for trying and measuring
/// the console.
import ArgumentParser
import Directory
import Kernel
import Postgres
import Primitives
import SharedSQL

struct DemoDataCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-data",
    abstract: "Fill a workspace with generated conversations in ten languages.",
    discussion: """
      The conversations date from the past 90 days. The latest are open, and a tenth of the open \
      ones wait in the queue. Generated operators without a password answer them. Another run \
      adds more. Use a separate workspace: generated conversations cannot be told apart from \
      real ones later.
      """)

  /// Conversations per transaction: small enough to report progress and to let other writers in.
  static let batch = 2_000

  @OptionGroup var data: DataOptions
  @Option(help: ArgumentHelp("The workspace's name.", valueName: "name"))
  var workspace = DemoWorkspace.name
  @Option(help: ArgumentHelp("The number of conversations, at most 1,000,000.", valueName: "count"))
  var conversations = 1_000
  @Option(
    help: ArgumentHelp(
      "The number of open ones (default: a fifth, at most 400).", valueName: "count"))
  var open: Int?

  func validate() throws {
    guard (1...1_000_000).contains(conversations) else {
      throw ValidationError("--conversations must be 1 to 1,000,000")
    }
    guard (0...conversations).contains(open ?? 0) else {
      throw ValidationError("--open must be 0 to the number of --conversations")
    }
  }

  func run() async throws {
    let settings = try await data.settings()
    let open = open ?? min(400, conversations / 5)
    // ANALYZE needs the owner.
    try Database.withCurrentSchema(settings, as: .owner) { connection in
      let workspace = try connection.workspace(named: workspace)
      // Generated conversations must not trigger webhooks.
      try connection.execute(script: "SET chirrup.webhooks = 'off'; " + DemoData.templates)
      for name in DemoData.operators {
        try connection.run(Query(Self.colleague, [.uuid(workspace.id), .text(name)]))
      }
      try connection.run(Query(Self.tags, [.uuid(workspace.id)]))
      let start = SystemClock.now()
      for first in stride(from: 1, through: conversations, by: Self.batch) {
        let last = min(first + Self.batch - 1, conversations)
        try connection.transaction { connection in
          try connection.run(
            Query(
              Self.draw,
              [
                .uuid(workspace.id), .int(Int64(first)), .int(Int64(last)),
                .int(Int64(conversations)), .int(Int64(open)),
              ]))
          for statement in Self.writing {
            try connection.run(Query(statement, [.uuid(workspace.id)]))
          }
          try connection.execute(script: "TRUNCATE demo_rows")
        }
        Terminal.note("\(last) of \(conversations) conversations")
      }
      try connection.execute(script: "ANALYZE visitors; ANALYZE chat_sessions; ANALYZE chats")
      // One recount is faster than the gateway, which counts conversation by conversation.
      _ = try connection.run(Analytics.recompute(workspace.id))
      let seconds = SystemClock.now().milliseconds(since: start) / 1000
      Terminal.note("created \(conversations) conversations in \(seconds) s, \(open) of them open")
      Terminal.result(
        """
        {"workspace":\(jsonText(workspace.name)),"conversations":\(conversations),"open":\(open)}
        """
      )
    }
  }

  /// Creates a generated operator once per installation and adds them to the workspace.
  private static let colleague: StaticString = """
    WITH made AS (
      INSERT INTO operators (email, name)
      VALUES (lower($2::text) || '@demo.example', $2::text)
      ON CONFLICT DO NOTHING RETURNING id
    )
    INSERT INTO memberships (workspace_id, operator_id)
    SELECT $1::uuid, id FROM made
    UNION SELECT $1::uuid, id FROM operators WHERE lower(email) = lower($2::text) || '@demo.example'
    ON CONFLICT DO NOTHING
    """

  private static let tags: StaticString = """
    INSERT INTO tags (workspace_id, name)
    SELECT DISTINCT $1::uuid, tag FROM demo_places ON CONFLICT DO NOTHING
    """

  /// Draws visitor, operator, time and topic of each conversation; a higher number is later. The
  /// last `$5` are open, and the last tenth of these waits. The three before that tenth are
  /// assigned to the first real member. Response and closing times are distributed exponentially.
  private static let draw: StaticString = """
    WITH languages AS (
      SELECT p.n, p.names, row_number() OVER (ORDER BY p.n, g) - 1 AS place,
        count(*) OVER () AS places
      FROM demo_people p, generate_series(1, p.weight) AS g
    ), staff AS (
      SELECT o.id, o.name, row_number() OVER (ORDER BY o.created_at, o.id) - 1 AS place,
        count(*) OVER () AS places
      FROM memberships m JOIN operators o ON o.id = m.operator_id
      WHERE m.workspace_id = $1::uuid AND o.email LIKE '%@demo.example'
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
        random() AS jitter
      FROM generate_series($2::bigint, $3::bigint) AS i
    ), timed AS (
      SELECT d.*, CASE d.status
        WHEN 'waiting' THEN now() - (($4::bigint - d.n + d.jitter) * 17) * interval '1 second'
        WHEN 'active' THEN now() - interval '12 minutes'
          - ($4::bigint - d.n + d.jitter) * least(40, 1200.0 / greatest(1, $5::bigint))
            * interval '1 second'
        ELSE now() - interval '6 hours' - (($4::bigint - $5::bigint - d.n + d.jitter)
          / greatest(1, $4::bigint - $5::bigint)) * interval '90 days' END AS created_at
      FROM drawn d
    )
    INSERT INTO demo_rows
    SELECT t.n, t.id, t.visitor, t.status, l.n, t.talk,
      CASE WHEN t.named < 0.8
        THEN l.names[1 + floor(t.person * cardinality(l.names))::int] ELSE '' END,
      t.place, t.agent,
      CASE WHEN t.status <> 'waiting' THEN s.id END,
      CASE WHEN t.status <> 'waiting' THEN s.name END, t.created_at,
      CASE WHEN t.status <> 'waiting' THEN t.created_at + t.slow * interval '40 seconds' END,
      CASE WHEN t.status <> 'waiting' THEN t.created_at + t.slow * interval '40 seconds'
        + t.long * interval '30 seconds' END,
      CASE WHEN t.status = 'closed' THEN t.created_at + t.slow * interval '40 seconds'
        + t.long * interval '30 seconds' + (2 + t.long * 6) * interval '1 minute' END,
      CASE t.status WHEN 'waiting' THEN 1 WHEN 'active' THEN 2 + floor(t.jitter * 2)::int ELSE 4 END
    FROM timed t
    JOIN languages l ON l.place = floor(t.language * l.places)
    CROSS JOIN LATERAL (
      SELECT id, name FROM owner
      WHERE t.status = 'active' AND t.n > $4::bigint - ceil($5::bigint / 10.0) - 3
      UNION ALL
      (SELECT id, name FROM staff WHERE place = floor(power(t.person, 1.6) * places))
      LIMIT 1
    ) AS s
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
      first_response_at, closed_at, closed_by, context)
    SELECT r.id, $1::uuid, r.visitor, r.status, r.created_at,
      CASE r.status WHEN 'closed' THEN r.closed_at WHEN 'waiting' THEN r.created_at
        ELSE r.replied_at + (r.shown - 2) * interval '50 seconds' END,
      r.operator_id, r.operator_name,
      r.shown + (r.status <> 'waiting')::int + (r.status = 'closed')::int,
      CASE WHEN r.shown = 1 THEN r.created_at
        ELSE r.replied_at + (r.shown - 2) * interval '50 seconds' END,
      left(p.lines[r.talk][r.shown], 120),
      CASE WHEN r.shown % 2 = 1 THEN 'visitor' ELSE 'operator' END, r.shown,
      CASE WHEN r.status = 'waiting' THEN r.created_at END, r.claimed_at, r.replied_at, r.closed_at,
      CASE WHEN r.status = 'closed' THEN r.operator_id END,
      jsonb_build_object('page', 'https://shop.example' || l.page, 'title', l.title,
        'locale', p.locale, 'timezone', p.zone, 'user_agent', a.agent,
        'referrer', CASE WHEN r.n % 3 = 0 THEN 'https://www.search.example/' ELSE '' END)
    FROM demo_rows r JOIN demo_people p ON p.n = r.people JOIN demo_places l ON l.n = r.place
      JOIN demo_agents a ON a.n = r.agent
    ORDER BY r.n
    """,
    // The log: the visitor's first line, the claim, the other lines, the closing.
    """
    INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload, user_id,
      operator_id, operator_name, content_hash, created_at)
    SELECT gen_random_uuid(), $1::uuid, e.id, e.seq, e.role, e.kind, e.content, e.payload,
      CASE WHEN e.role = 'visitor' THEN e.visitor END,
      CASE WHEN e.role = 'operator' THEN e.operator_id END,
      CASE WHEN e.role = 'operator' THEN e.operator_name END,
      \(ContentHash.of(kind: "e.kind", payload: "e.payload", content: "e.content")), e.at
    FROM (
      SELECT r.n, r.id, r.visitor, r.operator_id, r.operator_name, i + (i > 1)::int AS seq,
        CASE WHEN i % 2 = 1 THEN 'visitor' ELSE 'operator' END AS role, 'text' AS kind,
        p.lines[r.talk][i] AS content, NULL::jsonb AS payload,
        CASE WHEN i = 1 THEN r.created_at
          ELSE r.replied_at + (i - 2) * interval '50 seconds' END AS at
      FROM demo_rows r JOIN demo_people p ON p.n = r.people, generate_series(1, r.shown) AS i
      UNION ALL
      SELECT r.n, r.id, r.visitor, r.operator_id, r.operator_name, 2, 'system', 'event',
        r.operator_name || ' joined', jsonb_build_object('event', 'claimed', 'operator',
          jsonb_build_object('id', r.operator_id, 'name', r.operator_name)), r.claimed_at
      FROM demo_rows r WHERE r.status <> 'waiting'
      UNION ALL
      SELECT r.n, r.id, r.visitor, r.operator_id, r.operator_name, r.shown + 2, 'system', 'event',
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
      CASE WHEN r.status = 'active' AND r.n % 4 = 0 THEN 3 ELSE r.shown + 1 END, r.shown + 1
    FROM demo_rows r WHERE r.operator_id IS NOT NULL
    UNION ALL
    SELECT $1::uuid, r.id, r.visitor, 'visitor', r.name,
      r.shown + 1 - (r.n % 3 = 0)::int, r.shown + 1
    FROM demo_rows r WHERE r.operator_id IS NOT NULL
    """,
    """
    INSERT INTO session_tags (workspace_id, session_id, tag)
    SELECT $1::uuid, r.id, l.tag FROM demo_rows r JOIN demo_places l ON l.n = r.place
    WHERE r.n % 5 < 2 AND r.status <> 'waiting'
    """,
    """
    INSERT INTO csat_responses
      (workspace_id, session_id, visitor_id, operator_id, rating, comment, created_at)
    SELECT $1::uuid, r.id, r.visitor, r.operator_id, l.rating,
      CASE WHEN r.n % 9 = 0 THEN (ARRAY['It took too long.', 'I had to ask twice.',
        'Fine, but slow.', 'Friendly and clear.', 'Quick, and kind. Thank you!'])[l.rating] END,
      r.closed_at + interval '40 seconds'
    FROM demo_rows r CROSS JOIN LATERAL (
      SELECT 5 - floor(power(random() + 0 * r.n, 3) * 5)::int AS rating) AS l
    WHERE r.status = 'closed' AND r.n % 3 = 0
    """,
  ]
}

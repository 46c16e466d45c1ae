/// The list of who is on the site now: filtered, ordered and counted by PostgreSQL, since a page
/// gets a part of thousands only.
public import Postgres
public import Primitives
import SharedSQL

extension WatchedVisitor {
  /// Which visitors are listed, and in which order. Nil: all. An empty source or country: none is
  /// known.
  public struct Choice: Sendable {
    /// A visitor whose conversation waits, who is in one, who looks at a page, whose tabs are all
    /// hidden: each has one state.
    public static let states = ["waiting", "chatting", "browsing", "away"]
    public static let visits = ["new", "returning"]
    /// Those who wait first, then the longest on the site; the newest visit; the longest on the
    /// page; the most pages.
    public static let sorts = ["waiting", "newest", "page", "pages"]

    var words: String?
    var state: String?
    var path: String?
    var source: String?
    var country: String?
    var visit: String?
    /// The visit began then or before.
    var beganBefore: WallTime?
    var sort: String
    var limit: Int

    public init(
      words: String? = nil, state: String? = nil, path: String? = nil, source: String? = nil,
      country: String? = nil, visit: String? = nil, beganBefore: WallTime? = nil,
      sort: String? = nil, limit: Int
    ) {
      self.words = words
      self.state = state
      self.path = path
      self.source = source
      self.country = country
      self.visit = visit
      self.beganBefore = beganBefore
      self.sort = sort ?? Choice.sorts[0]
      self.limit = limit
    }
  }

  /// The values of a filter that the response counts: the most frequent ones.
  private static let valuesMax: SQL = "20"

  /// The counts, by the member of the response: how many visitors each value of a filter would
  /// leave. A count ignores its own filter and applies all others.
  private static let counted: [(name: SQL, value: SQL, others: SQL)] = [
    ("'states'", "situation", "by_path AND by_source AND by_country AND by_visit"),
    ("'paths'", "path", "by_state AND by_source AND by_country AND by_visit"),
    ("'sources'", "source", "by_state AND by_path AND by_country AND by_visit"),
    ("'countries'", "country", "by_state AND by_path AND by_source AND by_visit"),
    ("'visits'", "visit_kind", "by_state AND by_path AND by_source AND by_country"),
  ]

  private static let counts = counted.dropFirst().reduce(count(of: counted[0])) { all, one in
    "\(all), \(count(of: one))"
  }

  private static func count(of one: (name: SQL, value: SQL, others: SQL)) -> SQL {
    """
    \(one.name), (SELECT coalesce(jsonb_agg(jsonb_build_object('value', v, 'count', n)
        ORDER BY n DESC, v), '[]')
      FROM (SELECT coalesce(\(one.value), '') AS v, count(*) AS n FROM judged
        WHERE by_words AND by_time AND \(one.others) GROUP BY 1 ORDER BY 2 DESC, 1
        LIMIT \(valuesMax)) AS most)
    """
  }

  private static func order(_ sort: String) -> SQL {
    switch sort {
    case "newest": "began_at DESC"
    case "page": "page_at"
    case "pages": "pages DESC"
    default: "waits_since NULLS LAST, began_at"
    }
  }

  /// The visitors of a workspace. Columns: the browser's id, visitor, name, state, page, title,
  /// time of the page, time of the visit, pages, visits, referrer, campaign, country, language,
  /// user agent, path, source, open conversation, its status, its operator's id and name, since
  /// when it waits; then how many match, how many are on the site, and the counts of the filters'
  /// values. The first of the columns is null in the one row of a list without visitors.
  public static func list(of workspace: Identifier, _ choice: Choice) -> Query {
    Query(
      """
      WITH \(current), seen (
        watcher, visitor_id, name, state, page, title, page_at, began_at, pages, visits, referrer,
        campaign, country, language, user_agent, path, source, session_id, status, operator_id,
        operator_name, waits_since
      ) AS (SELECT \(columns) FROM \(people)),
      named AS (
        SELECT *, CASE WHEN status = 'waiting' THEN 'waiting'
            WHEN session_id IS NOT NULL THEN 'chatting'
            WHEN state = 'here' THEN 'browsing' ELSE 'away' END AS situation,
          CASE WHEN visits > 1 THEN 'returning' ELSE 'new' END AS visit_kind
        FROM seen
      ), judged AS MATERIALIZED (
        SELECT *,
          $2::text IS NULL OR strpos(lower(concat_ws(' ', page, title, name, referrer, campaign,
            country)), lower($2::text)) > 0 AS by_words,
          $3::text IS NULL OR situation = $3::text AS by_state,
          $4::text IS NULL OR path = $4::text AS by_path,
          $5::text IS NULL OR source = $5::text AS by_source,
          $6::text IS NULL OR coalesce(country, '') = $6::text AS by_country,
          $7::text IS NULL OR visit_kind = $7::text AS by_visit,
          $8::timestamptz IS NULL OR began_at <= $8::timestamptz AS by_time
        FROM named
      ), chosen AS MATERIALIZED (
        SELECT * FROM judged WHERE by_words AND by_state AND by_path AND by_source
          AND by_country AND by_visit AND by_time
      ), shown AS (
        SELECT * FROM chosen ORDER BY \(order(choice.sort)), watcher LIMIT $9::bigint
      )
      SELECT watcher, visitor_id, name, state, page, title, page_at, began_at, pages, visits,
        referrer, campaign, country, language, user_agent, path, source, session_id, status,
        operator_id, operator_name, waits_since, all_of.matching, all_of.on_site, all_of.counts
      FROM (SELECT (SELECT count(*) FROM chosen) AS matching,
        (SELECT count(*) FROM judged) AS on_site, jsonb_build_object(\(counts))::text AS counts
      ) AS all_of LEFT JOIN shown ON true
      ORDER BY \(order(choice.sort)), watcher
      """,
      [
        .uuid(workspace), .text(choice.words), .text(choice.state), .text(choice.path),
        .text(choice.source), .text(choice.country), .text(choice.visit),
        .time(choice.beganBefore), .int(Int64(choice.limit)),
      ])
  }
}

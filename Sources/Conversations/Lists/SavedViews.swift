public import Directory
import Postgres
import SharedSQL

/// Saved views: filters of the list of open conversations by name. Their content is a JSON object
/// with the parameters of the list as texts.
extension SharedItems {
  public static let views = SharedItems(
    table: "saved_views", content: "filters", object: "view", countMax: 20,
    figure: ", \(countInView) AS count")

  /// The most conversations of a view that are counted.
  public static let viewCountMax = 1_000

  private static let matches = OpenFilters.matches(
    language: "(i.filters ->> 'language')", minutes: "(i.filters ->> 'waiting_minutes')",
    name: "split_part(i.filters ->> 'attribute', '=', 1)",
    value: "substr(i.filters ->> 'attribute', strpos(i.filters ->> 'attribute', '=') + 1)",
    due: "(i.filters ->> 'due_minutes')", channel: "(i.filters ->> 'channel')")

  /// The conversations that the list has with the filters of the view `i`. It reads the open ones.
  private static let countInView: SQL = """
    (SELECT count(*) FROM (SELECT FROM \(ConversationQueue.open(of: "$1::uuid")) AS s
      WHERE (i.filters ->> 'status' = 'open' OR s.status = i.filters ->> 'status')
        AND CASE i.filters ->> 'assignee' WHEN 'me' THEN s.assigned_operator_id = $2::uuid
          WHEN 'none' THEN s.assigned_operator_id IS NULL
          ELSE i.filters ->> 'assignee' IS NULL
            OR s.assigned_operator_id = (i.filters ->> 'assignee')::uuid END
        AND CASE i.filters ->> 'team' WHEN 'none' THEN s.team_id IS NULL
          ELSE i.filters ->> 'team' IS NULL OR s.team_id = (i.filters ->> 'team')::uuid END
        AND (i.filters ->> 'tag' IS NULL OR EXISTS (SELECT FROM session_tags t
          WHERE t.workspace_id = $1::uuid AND t.session_id = s.id AND t.tag = i.filters ->> 'tag'))
        AND \(matches)
      LIMIT 1000) AS matching)
    """
}

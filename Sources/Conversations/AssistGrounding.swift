/// PostgreSQL's full-text search finds the sources of a suggested reply: canned replies and closed
/// conversations of the same workspace.
///
/// There is no index for it, for the reason of `MessageSearch`. Instead a request reads a bounded
/// number of those closed last. The configuration `simple` fits all languages that separate
/// words; a match counts more the fewer texts have the word, so that “the” counts nothing.
public import Directory
import Postgres
public import Primitives

public enum AssistGrounding {
  /// The last closed conversations that are searched, and the bytes of each.
  public static let conversationsSearched: Int64 = 300
  static let bytesSearched: Int64 = 8_192
  /// Words that are searched for.
  static let wordsMax: Int64 = 64
  /// The most replies and conversations of one search.
  public static let repliesMax: Int64 = 5
  public static let conversationsMax: Int64 = 3

  /// The words of the question, `$2`, at most `$3`.
  private static let words: SQL = """
    words AS (
      SELECT lexeme FROM unnest(to_tsvector('simple', $2::text))
      WHERE length(lexeme) > 2 LIMIT $3::bigint
    )
    """

  /// The `words` in each of `texts`, and what each counts.
  private static let weighed: SQL = """
    hits AS (
      SELECT t.id, w.lexeme FROM texts t
      CROSS JOIN LATERAL unnest(tsvector_to_array(t.vector)) AS own (lexeme)
      JOIN words w ON w.lexeme = own.lexeme
    ), weights AS (
      SELECT lexeme, ln((SELECT count(*) FROM texts) + 1.0) - ln(count(*)) AS weight
      FROM hits GROUP BY lexeme
    )
    """

  /// The texts of canned replies with words of `question`, best first. One column.
  public static func replies(
    for question: String, in workspace: Identifier
  ) -> Statement<[String]> {
    Statement(
      Query(
        """
        WITH \(words), texts AS (
          SELECT object_id AS id, payload ->> 'text' AS text,
            to_tsvector('simple', concat_ws(' ', object_id, shortcut, payload ->> 'text')) AS vector
          FROM reply_objects WHERE workspace_id = $1::uuid AND object_type = 'text'
        ), \(weighed)
        SELECT t.text FROM texts t
        JOIN hits h ON h.id = t.id JOIN weights w ON w.lexeme = h.lexeme
        WHERE t.text <> ''
        GROUP BY t.id, t.text ORDER BY sum(w.weight) DESC, t.id LIMIT $4::bigint
        """,
        [.uuid(workspace), .text(question), .int(wordsMax), .int(repliesMax)]), answer: texts)
  }

  /// The texts of closed conversations with words of `question`, best first; without notes, names
  /// and events. One column.
  ///
  /// - Parameter session: the conversation for which they are searched, which is none of them.
  public static func conversations(
    for question: String, except session: Identifier, in workspace: Identifier
  ) -> Statement<[String]> {
    Statement(
      Query(
        """
        WITH \(words), looked AS (
          SELECT id FROM chat_sessions
          WHERE workspace_id = $1::uuid AND status = 'closed' AND deleted_at IS NULL
            AND id <> $5::uuid
          ORDER BY coalesce(closed_at, created_at) DESC, id DESC LIMIT $6::bigint
        ), texts AS (
          SELECT l.id, c.text, to_tsvector('simple', c.text) AS vector FROM looked l
          CROSS JOIN LATERAL (
            SELECT left(string_agg(CASE WHEN e.role IN ('visitor', 'user') THEN 'Visitor: '
                ELSE 'Operator: ' END || replace(e.content, E'\\n', E'\\n  '), E'\\n'
              ORDER BY e.seq), $7::bigint::integer) AS text
            FROM (
              SELECT role, content, seq FROM chats e
              WHERE e.workspace_id = $1::uuid AND e.session_id = l.id
                AND e.kind NOT IN ('event', 'note')
                AND e.role IN ('visitor', 'user', 'operator')
              ORDER BY e.seq LIMIT 50
            ) e
            -- Nothing is learnt from a conversation without an answer.
            HAVING bool_or(e.role = 'operator')
          ) c
        ), \(weighed)
        SELECT t.text FROM texts t
        JOIN hits h ON h.id = t.id JOIN weights w ON w.lexeme = h.lexeme
        GROUP BY t.id, t.text ORDER BY sum(w.weight) DESC, t.id DESC LIMIT $4::bigint
        """,
        [
          .uuid(workspace), .text(question), .int(wordsMax), .int(conversationsMax),
          .uuid(session), .int(conversationsSearched), .int(bytesSearched),
        ]), answer: texts
    ).scoped(to: workspace)
  }

  @Sendable private static func texts(_ rows: Rows) -> [String] {
    (0..<rows.count).compactMap { rows.text($0, 0) }
  }
}

/// The configuration of a workspace's bot: its intents in order, and the reply objects they name.
public import Directory
import JSON
import OpenSSL
import Postgres
public import Primitives

public struct BotScript: Sendable {
  public var intents: [Intent]
  public var objects: [String: ReplyObject]
  /// The names of intents that were skipped, because their pattern is invalid or exceeds a limit.
  /// Older versions may have stored such patterns, so stored ones are compiled within a budget too.
  public var broken: [String]
  /// Assist answers what no intent does, while no operator is available (`AutomaticAnswer`).
  public var answersAutomatically = false

  /// The most intents of one workspace.
  public static let intentsMax = 500
  /// The most bytes of names, keywords and replies of one workspace's intents; the same limit
  /// applies to its reply objects.
  public static let bytesMax = 1_048_576

  public init(intents: [Intent], objects: [String: ReplyObject], broken: [String] = []) {
    self.intents = intents
    self.objects = objects
    self.broken = broken
  }

  /// Loads the intents in order, and the reply objects that they name. Decoding compiles patterns:
  /// never do it on an event loop.
  public static func load(_ workspace: Identifier) -> Statement<BotScript> {
    Statement(
      Query(
        """
        (SELECT 'intent', CASE WHEN total <= $3::bigint THEN name ELSE left(name, 100) END,
          left(keyword, $4::bigint::integer), match_kind,
          CASE WHEN total <= $3::bigint THEN replies::text END, position
        FROM (
          SELECT name::text, keyword::text, match_kind, replies, position,
            sum(octet_length(name) + octet_length(keyword) + octet_length(replies::text))
              OVER (ORDER BY position, name) AS total
          FROM intents WHERE workspace_id = $1::uuid AND is_enabled AND keyword IS NOT NULL
          ORDER BY position, name LIMIT $2::bigint) AS i)
        UNION ALL
        SELECT 'object', object_id, object_type, alt_text, payload, NULL
        FROM (
          SELECT o.object_id::text, o.object_type::text, o.alt_text::text, o.payload::text,
            sum(octet_length(o.object_id) + octet_length(coalesce(o.alt_text, ''))
              + octet_length(o.payload::text)) OVER (ORDER BY o.object_id) AS total
          FROM reply_objects o
          WHERE o.workspace_id = $1::uuid AND EXISTS (
            SELECT FROM intents i WHERE i.workspace_id = $1::uuid AND i.is_enabled
              AND i.replies @> jsonb_build_array(jsonb_build_object('object', o.object_id)))
        ) AS p WHERE total <= $3::bigint
        UNION ALL
        SELECT 'assist', automatic, NULL, NULL, NULL, NULL FROM assist_settings
        WHERE workspace_id = $1::uuid AND is_enabled AND automatic <> 'off'
        ORDER BY 1, 6, 2
        """,
        [
          .uuid(workspace), .int(Int64(intentsMax)), .int(Int64(bytesMax)),
          .int(Int64(Intent.keywordBytesMax + 1)),
        ])
    ) { BotScript($0) }
  }

  private init(_ rows: Rows) {
    self.init(intents: [], objects: [:])
    var budget = PatternBudget.workspace
    for row in 0..<rows.count {
      guard let name = rows.text(row, 1) else { continue }
      if rows.text(row, 0) == "assist" {
        answersAutomatically = true
        continue
      }
      let value = rows.bytes(row, 4).flatMap { JSONValue($0) }
      if rows.text(row, 0) == "object" {
        guard let value else { continue }
        objects[name] = ReplyObject(
          type: rows.text(row, 2) ?? "", payload: value, altText: rows.text(row, 3))
        continue
      }
      do throws(PatternFault) {
        guard let value else { throw .workspaceFull }
        intents.append(
          try Intent(
            name: name, keyword: rows.text(row, 2) ?? "",
            kind: Intent.MatchKind(rawValue: rows.text(row, 3) ?? "") ?? .contains,
            replies: (value.array ?? []).compactMap { Intent.Reply($0) }, within: &budget))
      } catch {
        broken.append(name)
      }
    }
  }

  /// The patterns of the other intents in order, for checking their common budget with a new one.
  public static func patterns(
    of workspace: Identifier, but name: String
  ) -> Statement<[String]> {
    Statement(
      Query(
        """
        SELECT left(keyword, $4::bigint::integer) FROM intents
        WHERE workspace_id = $1::uuid AND name <> $2::text AND is_enabled
          AND match_kind = 'regex' AND keyword IS NOT NULL
        ORDER BY position, name LIMIT $3::bigint
        """,
        [
          .uuid(workspace), .text(name), .int(Int64(intentsMax)),
          .int(Int64(Intent.keywordBytesMax + 1)),
        ])
    ) { rows in (0..<rows.count).compactMap { rows.text($0, 0) } }
  }

  /// The workspaces with a bot: an enabled intent, an automatic message, automatic answers, or a
  /// published menu, which may request a handover. Messages of other workspaces need no check.
  public static func workspaces(limit: Int) -> Statement<Set<Identifier>> {
    Statement(
      Query(
        """
        SELECT workspace_id FROM (
          SELECT workspace_id FROM intents WHERE is_enabled
          UNION SELECT workspace_id FROM system_settings
            WHERE key IN ('greeting_message', 'away_message') AND value LIKE '%true%'
          UNION SELECT workspace_id FROM assist_settings WHERE is_enabled AND automatic <> 'off'
          UNION SELECT workspace_id FROM rich_menus WHERE status = 'published') AS w
        WHERE workspace_id IS NOT NULL LIMIT $1::bigint
        """, [.int(Int64(limit))])
    ) { rows in Set((0..<rows.count).compactMap { rows.uuid($0, 0) }) }
  }
}

extension Identifier {
  /// Derives the id of a bot's answer from the visitor's message and the answer's ordinal, so that
  /// an answer that is repeated after a crash is a duplicate. It keeps the time of the visitor's
  /// message (UUIDv7, RFC 9562 §5.7), for locality in the index.
  public static func answer(to message: Identifier, ordinal: Int) -> Identifier {
    var bytes: [UInt8] = Array("chirrup answer ".utf8)
    message.appendBytes(to: &bytes)
    bytes.append(contentsOf: "\(ordinal)".utf8)
    let digest = SHA256.digest(bytes)
    return digest.withRawSpan { span in
      Identifier(
        high: message.high & ~0xFFFF | 0x7000 | span.uint64(at: 0) & 0x0FFF,
        low: 0x8000_0000_0000_0000 | span.uint64(at: 8) & 0x3FFF_FFFF_FFFF_FFFF)
    }
  }
}

import Postgres
import SharedSQL

/// The search of a list of conversations: a text in the title, in the preview of the last message
/// or in the visitor's name. Each row is compared, since no index finds a part of a word.
extension ConversationList {
  var pattern: String? { search.map { likePattern($0) } }

  /// Whether a session `s` of the workspace `$1` matches the pattern `$5`. The visitors whose name
  /// matches are looked up once, not for each of many rows.
  static let isFound = isFound(
    byName: """
      s.user_id IN (SELECT v.id FROM visitors v
          WHERE v.workspace_id = $1::uuid AND \(contains("v.name")))
      """)

  /// The same for few rows: the visitor's name is looked up for each.
  static let isFoundOfFew = isFound(
    byName: """
      EXISTS (SELECT FROM visitors v
          WHERE v.id = s.user_id AND v.workspace_id = $1::uuid AND \(contains("v.name")))
      """)

  /// Whether a session `s` matches, with a condition of its own for the visitor's name.
  static func isFound(byName: SQL) -> SQL {
    """
    ($5::text IS NULL OR \(contains("s.title")) OR \(contains("s.last_message_preview"))
        OR \(byName))
    """
  }
}

/// Whether a column matches the pattern `$5`, whatever the case of its letters. A pattern of ASCII
/// only is compared by the rules of "C", which takes half the time; the planner knows the pattern,
/// and drops the other branch.
func contains(_ column: SQL) -> SQL {
  """
  CASE WHEN octet_length($5::text) = length($5::text)
        THEN \(column) ILIKE $5::text COLLATE "C" ELSE \(column) ILIKE $5::text END
  """
}

/// The `ILIKE` pattern that finds a text literally.
func likePattern(_ text: String) -> String {
  var pattern = "%"
  for character in text.unicodeScalars {
    if character == "\\" || character == "%" || character == "_" { pattern += "\\" }
    pattern.unicodeScalars.append(character)
  }
  return pattern + "%"
}

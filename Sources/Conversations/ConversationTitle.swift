public import Directory
import Postgres
public import Primitives

/// The title of a conversation, which operators give it. It is not shown to visitors.
public enum ConversationTitle {
  /// The most characters of a title.
  public static let charactersMax = 200

  /// The text without blanks around it; nil if it is too long or has control characters.
  public static func normalize(_ text: String) -> String? {
    let title = String(text.trimmingBlanks)
    let isTitle =
      title.unicodeScalars.count <= charactersMax
      && title.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    return isTitle ? title : nil
  }

  /// Sets the title; empty removes it. False if the workspace has no such conversation.
  public static func set(
    _ title: String, of session: Identifier, in workspace: Identifier
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        UPDATE chat_sessions SET title = $3::text,
          updated_at = CASE WHEN title = $3::text THEN updated_at ELSE clock_timestamp() END
        WHERE workspace_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL
        RETURNING id
        """, [.uuid(workspace), .uuid(session), .text(title)])
    ) { !$0.isEmpty }
  }
}

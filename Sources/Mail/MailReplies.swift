/// The replies of a conversation that came by e-mail, with what is known of their authors.
public import Postgres
public import Primitives

/// The verdict is read here and not from the messages: whoever sends a message makes its payload.
public enum MailReplies {
  static let listedMax: Int64 = 100

  /// The first message of each, its author in short, whether the author is the visitor for sure,
  /// the verdict of the mail server, and when it came; the newest first.
  public static func ofConversation(_ session: Identifier, workspace: Identifier) -> Query {
    Query(
      """
      SELECT message_id, coalesce(author, ''), is_verified, verdict, received_at
      FROM mail_received
      WHERE workspace_id = $1::uuid AND stored_in = $2::uuid AND message_id IS NOT NULL
      ORDER BY seq DESC LIMIT $3::bigint
      """, [.uuid(workspace), .uuid(session), .int(listedMax)])
  }
}

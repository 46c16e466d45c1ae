/// Whether the visitor of a conversation gets answers by e-mail, and where.
public import Directory
import Postgres
public import Primitives

public struct MailConversation: Sendable, Equatable {
  /// Nil: the visitor has none.
  public var address: String?
  public var visitor: String
  /// The seconds until unread answers are sent; nil: the workspace does not want that.
  public var afterSeconds: Int64?
  /// The owner of the address has ended it.
  public var isStopped: Bool

  /// The address in short; nil: none to which mail can be sent.
  public var recipient: String? { address.flatMap { MailAddress($0) }?.masked }

  public static func state(
    of session: Identifier, workspace: Identifier
  ) -> Statement<MailConversation?> {
    Statement(
      Query(
        """
        SELECT v.email, coalesce(v.name, ''), chirrup_mail_quiet(s.workspace_id),
          EXISTS (SELECT FROM mail_stops x WHERE x.workspace_id = s.workspace_id
            AND x.address_hash = \(MailOutbox.hashSQL))
        FROM chat_sessions s
        LEFT JOIN visitors k ON k.workspace_id = s.workspace_id AND k.id = s.user_id
        LEFT JOIN visitors v
          ON v.workspace_id = s.workspace_id AND v.id = coalesce(k.merged_into, k.id)
        WHERE s.workspace_id = $1::uuid AND s.id = $2::uuid AND s.deleted_at IS NULL
        """, [.uuid(workspace), .uuid(session)])
    ) { rows in
      guard !rows.isEmpty else { return nil }
      return MailConversation(
        address: rows.text(0, 0), visitor: rows.text(0, 1) ?? "", afterSeconds: rows.int(0, 2),
        isStopped: rows.bool(0, 3) == true)
    }
  }
}

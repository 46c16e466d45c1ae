/// The operations of e-mail.
extension OperationTexts {
  static let mail: [String: String] = [
    "get_admin_mail": "Without a mail server of the gateway nothing is sent.",
    "get_admin_mail_messages": """
    What became of each message, with what the mail server said about its last failed attempt. \
    Addresses are shortened.
    """,
    "post_admin_mail_test": "It is sent as any other message. Ten an hour.",
    "get_admin_live_chat_conversations_id_mail": """
    Answers that a visitor has not read are sent to their address after a quiet time. `messages` \
    has those that were sent, from `first_seq` to `last_seq`, the newest first; `replies` has what \
    came back.
    """,
    "post_admin_live_chat_conversations_id_mail_send_again": """
    They are sent to the visitor's present address within seconds, unless the visitor has read \
    them or they are older than three days. 409 `no_failed_mail`: the last e-mail has not failed.
    """,
    "post_widget_sessions_id_transcript_mail": """
    To the address of the visitor's profile only (409 without one). Three an hour.
    """,
    "get_mail_unsubscribe_token": "The link in each message with answers. It changes nothing.",
    "post_mail_unsubscribe_token": """
    Mail clients send it with one click. The address then gets no more answers of the workspace.
    """,
    "post_auth_password_reset": """
    The answer is the same without such an account. The link counts once, for 30 minutes; an \
    account gets three an hour.
    """,
    "get_auth_password_link_token": "For links of invitations and of new passwords.",
    "post_auth_password_link_token": """
    The body is `password=…`, as a form sends it. Ends all logins of the account.
    """,
  ]
}

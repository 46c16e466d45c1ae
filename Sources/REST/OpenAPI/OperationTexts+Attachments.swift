/// The operations of attachments: the same for visitors and for operators.
extension OperationTexts {
  static let attachments: [String: String] = {
    var found = [
      "post_widget_sessions_id_messages": """
      Sends a message with files that are stored, in this conversation, of this visitor and in no \
      other message. The response comes after the commit: the message and the bytes of its files \
      are safe then. With the same `id` it is sent once. `body` is its caption.
      """,
      "get_attachments_id": """
      The bytes of a file, by a link of `POST …/attachments/links`, which nothing else authorises. \
      Single ranges are supported. Only PNG, JPEG, GIF and WebP are shown by browsers, other \
      files are downloads.
      """,
      "get_admin_attachments_usage": """
      The bytes of the workspace's files, with those that running uploads have reserved.
      """,
    ]
    for base in ["widget_sessions_id", "admin_live_chat_conversations_id"] {
      found["post_\(base)_attachments"] = """
        Begins an upload under an id of your own, and reserves its bytes. With an id that was sent \
        before it gives the state (200): an upload goes on at `received`, also from another \
        connection. What is in no message after 24 hours is removed.
        """
      found["put_\(base)_attachments_attachment_parts_offset"] = """
        The bytes from `offset` on, at most 65,536. Another offset than `received` is refused \
        (409, with `received`); a part that was received before changes nothing. With the last \
        part the type is judged by the content, and the file is stored.
        """
      found["get_\(base)_attachments_attachment"] = """
        The state of an upload of the caller, with the bytes that were received.
        """
      found["delete_\(base)_attachments_attachment"] = """
        Cancels an upload, or removes a stored file, that is in no message.
        """
      found["post_\(base)_attachments_links"] = """
        Links to files of the conversation, valid for ten minutes. Files that do not exist, or \
        were removed, are missing in the response.
        """
    }
    return found
  }()
}

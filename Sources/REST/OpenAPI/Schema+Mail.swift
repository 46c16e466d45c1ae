/// Schemas of e-mail.
import Mail

extension Schema {
  static let mailState = object([
    "configured": bool.described("Whether the gateway has a mail server."),
    "from": text.orNull.described("The gateway's own address."),
  ]).named("MailState")

  static let mailMessages = page("messages", of: MailRoutes.message.schema.named("MailMessage"))
    .named("MailMessages")

  static let queuedMail = object([
    "id": id, "recipient": text.described("The address in a form that people recognise."),
  ]).named("QueuedMail")

  static let conversationMail = object([
    "recipient": text.orNull.described(
      "Where answers go that the visitor has not read; null: nowhere."),
    "after_seconds": count.orNull.described("The seconds after the last answer until then."),
    "stopped": bool.described("The owner of the address has ended it."),
    "messages": array(
      of: object([
        "first_seq": count, "last_seq": count,
        "state": word(["pending", "sent", "failed", "stopped"]), "reason": text,
        "recipient": text, "at": time,
      ])),
    "replies": array(
      of: object([
        "message_id": id.described("The first message that it became."),
        "author": text.described("The address in short."),
        "is_verified": bool.described(
          "The domain has confirmed the author (DMARC), whose address is the visitor's."),
        "verdict": text.described(
          "What the receiving mail server says: spf=pass dkim=pass dmarc=pass."),
        "at": time,
      ])
    ).described("Replies that came by e-mail, the newest first."),
  ]).named("ConversationMail")

  static let passwordReset = input([
    "email": string(1...APILimits.emailBytes).described("The address of the account.")
  ]).named("PasswordReset")
}

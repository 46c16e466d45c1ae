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
  ]).named("ConversationMail")

  static let passwordReset = input([
    "email": string(1...APILimits.emailBytes).described("The address of the account.")
  ]).named("PasswordReset")
}

import IncomingMail
import Mail

/// E-mail in both directions.
extension PrometheusText {
  mutating func mail(_ mail: MailMetrics) {
    family(
      "mail_accepted_total", "counter", "Messages that the mail server accepted.",
      [("", mail.accepted)])
    family(
      "mail_refused_total", "counter", "Messages that the mail server refused for good.",
      [("", mail.refused)])
    family(
      "mail_attempts_failed_total", "counter", "Failed attempts of messages that are repeated.",
      [("", mail.attemptsFailed)])
    family(
      "mail_unreachable_total", "counter",
      "Attempts that found no mail server that takes any message.", [("", mail.unreachable)])
  }

  mutating func replies(_ replies: ReplyMetrics) {
    family(
      "mail_received_total", "counter",
      "Messages of the mailbox for replies that were stored, refused ones included.",
      [("", replies.received)])
    family(
      "mail_received_refused_total", "counter",
      "Messages of the mailbox that became no message of a conversation, by reason.",
      MailRefusal.allCases.map {
        ("{reason=\"\($0.rawValue)\"}", replies.refused[$0, default: 0])
      })
    family(
      "mail_mailbox_failed_total", "counter", "Rounds that could not read the mailbox.",
      [("", replies.roundsFailed)])
  }
}

import Mail

/// Outgoing e-mail.
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
}

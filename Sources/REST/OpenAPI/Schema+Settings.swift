/// Schemas of a workspace's settings: all of them in responses, some in a change.
/// `WorkspaceSettings+Reading` refuses unknown members.
import Directory

extension Schema {
  static let settings = object([
    "settings": object([
      "widget": object([
        "name": text.orNull, "accent": text.orNull, "locale": text, "theme": text,
        "position": text, "greeting": greeting.orNull, "preview": bool, "sound": bool,
        "teaser": bool,
      ]),
      "hours": hours,
      "greeting_message": botMessage, "away_message": botMessage, "offline": botMessage,
      "prechat": prechat,
      "queue": object([
        "capacity": count, "assign": text, "reassign_after_seconds": count,
        "close_after_minutes": count, "show_position": bool, "first_response_minutes": count,
        "resolution_minutes": count,
      ]),
      "rating": rating,
      "retention": object(["deleted_days": count]),
      "security": object(["require_second_factor": bool]),
      "routing": object([
        "rules": array(of: object(["page": text, "language": text, "team": text]))
      ]),
      "watching": object(["enabled": bool]),
      "attachments": object([
        "enabled": bool, "bytes_max": count, "types": array(of: text), "total_bytes": count,
      ]),
      "mail": object([
        "answers": bool, "answers_after_seconds": count, "sender_name": text,
        "sender_address": text, "reply_to": text, "offline_to": text, "alert_to": text,
        "alert_after_seconds": count, "transcripts": bool,
      ]),
    ]),
    "allowed_origins": array(of: text).orNull, "public_key": text, "workspace": named,
    "limits": array(
      of: object([
        "name": text.described("As in the gateway's settings, such as sends_per_visitor."),
        "amount": count.orNull.described("Null: no limit."),
        "seconds": count.orNull.described(
          "The time in which the amount is allowed; null: at the same time."),
      ])),
  ]).named("Settings")

  static let hours = object([
    "always": bool, "time_zone": text,
    "days": array(of: object(["day": int(1...7), "from": text, "to": text])),
    "holidays": array(of: date),
  ])
  static let greeting = object(["title": text, "text": text])
  static let botMessage = object(["enabled": bool, "text": text])
  static let rating = object(["enabled": bool, "question": text.orNull])
  static let prechat = object([
    "enabled": bool,
    "fields": array(
      of: object(
        ["key": text, "label": text, "type": word(fieldTypes), "required": bool],
        sometimes: ["options": array(of: text)])),
  ])

  private static let kinds = WorkspaceSettings.Attachments.kinds
  private static let fieldTypes = ["text", "email", "select", "team"]
  /// `WorkspaceSettings.Mail.isAddress`, or empty.
  private static let mailAddress = string(
    0...SettingLimits.addressBytes, pattern: #"^([a-z0-9.+_-]{1,64}@[a-z0-9.-]{1,180})?$"#)
  private static let longText = string(0...SettingLimits.textBytes)
  private static let botMessageInput = closed(optional: ["enabled": bool, "text": longText])

  static let settingsPatch = input(optional: [
    "settings": closed(optional: [
      "widget": widgetInput, "hours": hoursInput, "greeting_message": botMessageInput,
      "away_message": botMessageInput, "offline": botMessageInput, "prechat": prechatInput,
      "queue": closed(optional: [
        "capacity": int(1...1_000), "assign": word(["off", "least_busy"]),
        "reassign_after_seconds": int(0...86_400), "close_after_minutes": int(0...10_080),
        "show_position": bool, "first_response_minutes": targetMinutes,
        "resolution_minutes": targetMinutes,
      ]),
      "rating": closed(optional: ["enabled": bool, "question": longText]),
      "retention": closed(optional: [
        "deleted_days": int(1...3_650).described(
          "The days after which a deleted conversation is erased.")
      ]),
      "routing": closed(optional: [
        "rules": array(
          of: closed(
            [
              "team": string(1...SettingLimits.nameBytes).described(
                "The id or name of a team; * is the one that speaks the visitor's language.")
            ],
            optional: [
              "page": string(0...SettingLimits.pathBytes, pattern: "^(/.*)?$")
                .described("The beginning of the page's path; empty: any."),
              "language": string(0...SettingLimits.localeBytes, pattern: "^[A-Za-z0-9-]*$")
                .described("A language tag; empty: any."),
            ]), 0...SettingLimits.routingRules
        ).described("The first rule that matches a new conversation gives it to its team.")
      ]),
      "security": closed(optional: [
        "require_second_factor": bool.described(
          "Members without a second factor must set one up at their next login.")
      ]),
      "watching": closed(optional: [
        "enabled": bool.described(
          "Pages whose snippet has data-watch send which page is open, and proactive messages are "
            + "shown.")
      ]),
      "attachments": closed(optional: [
        "enabled": bool, "bytes_max": int(1_024...Int64(SettingLimits.attachmentBytes)),
        "types": array(of: word(kinds), 0...kinds.count),
        "total_bytes": int(0...Int64(SettingLimits.attachmentTotalBytes)),
      ]),
      "mail": closed(optional: [
        "answers": bool.described("Send answers that a visitor has not read to their address."),
        "answers_after_seconds": int(0...86_400).described(
          "The seconds after the last answer until then."),
        "sender_name": string(0...SettingLimits.nameBytes),
        "sender_address": mailAddress.described("Empty: the gateway's address."),
        "reply_to": mailAddress.described("Empty: the sender."),
        "offline_to": mailAddress.described(
          "Gets the messages of the offline form; empty: nobody."),
        "alert_to": mailAddress.described(
          "Learns of visitors who wait in the queue; empty: nobody."),
        "alert_after_seconds": int(0...86_400).described(
          "The seconds for which a visitor waits before."),
        "transcripts": bool.described("Visitors may have the transcript sent to their address."),
      ]),
    ]),
    "allowed_origins": array(
      of: string(0...APILimits.originBytes, format: "origin"), 0...APILimits.origins
    ).described(
      "Origins such as https://www.example.com; null: those of the gateway's configuration."),
  ]).named("SettingsPatch")

  private static let widgetInput = closed(optional: [
    "name": string(0...SettingLimits.nameBytes),
    "accent": string(pattern: "^#[0-9A-Fa-f]{6}$"),
    "locale": string(1...SettingLimits.localeBytes, pattern: "^[A-Za-z0-9-]+$"),
    "theme": word(["auto", "light", "dark"]), "position": word(["right", "left"]),
    "greeting": closed(optional: [
      "title": string(0...SettingLimits.greetingTitleBytes), "text": longText,
    ]),
    "preview": bool, "sound": bool, "teaser": bool,
  ])

  static let hoursInput = closed(optional: [
    "always": bool,
    "time_zone": string(
      1...SettingLimits.zoneBytes, pattern: "^[A-Za-z0-9/_+-]+$", format: "time-zone"
    ).described("A name of the IANA time zone database, such as Europe/Berlin."),
    "days": array(
      of: closed([
        "day": int(1...7).described("1 is Monday."),
        "from": string(pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$"),
        "to": string(pattern: "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$")
          .described("Differs from “from”; an earlier time is on the next day."),
      ]), 0...SettingLimits.openings),
    "holidays": array(of: date, 0...SettingLimits.holidays),
  ])

  private static let prechatInput = closed(optional: [
    "enabled": bool,
    "fields": array(
      of: closed(
        [
          "key": string(1...SettingLimits.fieldKeyBytes),
          "label": string(1...SettingLimits.labelBytes),
        ],
        optional: [
          "type": word(fieldTypes), "required": bool,
          "options": array(
            of: string(0...SettingLimits.labelBytes), 0...SettingLimits.options),
        ]), 0...SettingLimits.fields),
  ])
}

/// Schemas of reply objects, intents and menus.
import Automation

extension Schema {
  private static let label = string(1...ReplyPayload.labelBytes)
  private static let value = string(1...ReplyPayload.valueBytes)
  private static let replyText = string(1...ReplyPayload.textBytes)

  private static let button = any(of: [
    input(["label": label, "value": value], optional: ["type": word(["reply"])]),
    input(["label": label, "value": link, "type": word(["url"])]),
  ]).named("Button")

  private static let card = input(
    ["title": string(1...ReplyPayload.labelBytes)],
    optional: [
      "text": string(0...ReplyPayload.textBytes), "image_url": link,
      "buttons": array(of: button, 0...ReplyPayload.buttonsMax),
    ]
  ).named("Card")

  static let replyObjectName = string(1...50, pattern: #"^[^\x00-\x1f/\\\x7f]{1,50}$"#)
  private static let replyObject = ReplyObjectRoutes.replyObject.schema.named("ReplyObject")
  static let replyObjects = page("reply_objects", of: replyObject).named("ReplyObjects")
  static let oneReplyObject = object(["reply_object": replyObject]).named("ReplyObjectAnswer")
  static let replyObjectChange = any(of: [
    reply(
      [
        "payload": input(
          ["text": replyText],
          optional: [
            "quick_replies": array(
              of: input(["label": label, "value": value]), 0...ReplyPayload.quickRepliesMax)
          ])
      ], optional: ["object_type": word(["text"])]),
    reply([
      "object_type": word(["buttons"]),
      "payload": input([
        "text": replyText, "buttons": array(of: button, 1...ReplyPayload.buttonsMax),
      ]),
    ]),
    reply(["object_type": word(["card"]), "payload": card]),
    reply([
      "object_type": word(["carousel"]),
      "payload": input(["cards": array(of: card, 1...ReplyPayload.cardsMax)]),
    ]),
  ]).named("ReplyObjectChange")

  private static func reply(
    _ members: [String: Schema], optional: [String: Schema] = [:]
  ) -> Schema {
    let own = [
      "alt_text": string(0...APILimits.altTextBytes),
      "shortcut": string(1...32, pattern: #"^[^\s/\x00-\x20\x7f]{1,32}$"#),
    ]
    return input(members, optional: own.merging(optional) { first, _ in first })
  }

  static let intentName = string(1...100, pattern: #"^[^\x00-\x1f/\\\x7f]{1,100}$"#)
  private static let intent = IntentRoutes.intent.schema.named("Intent")
  static let intents = page("intents", of: intent).named("Intents")
  static let oneIntent = object(["intent": intent]).named("IntentAnswer")
  static let newIntent = any(of: [
    input(
      ["name": intentName, "keyword": keyword],
      optional: intentMembers(kinds: IntentRoutes.matchKinds.filter { $0 != "regex" })),
    input(
      ["name": intentName, "keyword": pattern, "match_kind": word(["regex"])],
      optional: intentMembers(kinds: nil)),
  ]).named("NewIntent")
  static let intentChange = input(
    optional: intentMembers(kinds: IntentRoutes.matchKinds).merging(["keyword": pattern]) {
      _, new in new
    }
  ).named("IntentChange")

  private static let keyword = string(1...APILimits.keywordBytes, format: "keyword")
    .described("With at least one visible character.")
  private static let pattern = string(1...APILimits.keywordBytes, format: "intent-pattern")
    .described(
      "For regex a regular expression of literals, classes, groups, |, ?, *, +, {m,n}, ^, $, \\b, "
        + "\\d, \\w, \\s; for the other kinds a text.")

  private static let handoverTeam = string(0...APILimits.tagBytes).described(
    "The id or name of the team that gets the conversation. With an unknown one it stays where it "
      + "is.")

  private static func intentMembers(kinds: [String]?) -> [String: Schema] {
    var members = [
      "replies": array(
        of: any(of: [
          input(["text": replyText]), input(["object": string(1...APILimits.tagBytes)]),
          input(["handover": constantTrue], optional: ["team": handoverTeam]),
        ]), 0...APILimits.replies),
      "position": int(0...1_000_000), "is_enabled": bool,
    ]
    if let kinds { members["match_kind"] = word(kinds) }
    return members
  }

  private static let menu = MenuRoutes.menu.schema.named("Menu")
  static let menus = page("rich_menus", of: menu).named("Menus")
  static let oneMenu = object(["rich_menu": menu]).named("MenuAnswer")
  static let newMenu = input(["name": menuName], optional: menuMembers).named("NewMenu")
  static let menuPatch = input(
    optional: menuMembers.merging(["name": menuName]) { first, _ in first }
  ).named("MenuPatch")

  private static let menuName = string(1...APILimits.menuNameBytes)
  private static let menuMembers = [
    "actions": array(
      of: any(of: [
        input(["label": label, "type": word(["message"]), "value": value]),
        input(["label": label, "type": word(["url"]), "value": link]),
        input(
          ["label": label, "type": word(["operator"])],
          optional: [
            "value": string(0...ReplyPayload.valueBytes).described(
              "The id or name of the team that gets the conversation; empty or unknown: it stays "
                + "where it is.")
          ]),
      ]), 0...APILimits.menuActions),
    "image_url": string(
      0...ReplyPayload.valueBytes, pattern: #"^(https?://[^\x00-\x20\x7f]*)?$"#
    ).described(
      "The picture that LINE shows: a PNG or JPEG of at most 1 MB; empty: none."),
    "status": word(RichMenus.statuses),
  ]
}

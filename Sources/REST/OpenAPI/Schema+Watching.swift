/// Schemas of beacons, of the visitors of this moment, and of proactive messages.
import Chat
import Directory

extension Schema {
  /// Longer texts are cut.
  private static let shortText = string(0...BeaconLimits.bytes)
  private static let age = int(0...BeaconLimits.secondsMax)
    .described("The seconds since then.")

  static let beacon = input(
    [
      "workspace": string(1...APILimits.secretBytes),
      "secret": string(BeaconLimits.secretBytes),
      "tab": string(1...BeaconLimits.tabBytes),
    ],
    optional: [
      "state": word(["here", "away", "gone"]),
      "visit": input(
        [
          "trail": array(
            of: input(optional: ["page": shortText, "title": shortText, "age": age]),
            1...BeaconLimits.trail)
        ],
        optional: [
          "age": age, "pages": int(1...BeaconLimits.visitsMax),
          "visits": int(1...BeaconLimits.visitsMax), "referrer": shortText,
          "campaign": shortText,
        ]),
      "show": id, "page": bool,
    ]
  ).named("Beacon")
  static let beaconAnswer = object(
    ["enabled": bool],
    sometimes: [
      "next_seconds": count, "needs_visit": bool, "may_show": bool,
      "invitation": object(["session": id, "sender": text, "body": text]),
      "page": object([
        "is_open": bool, "operators_available": bool,
        "messages": array(
          of: object([
            "id": id, "body": text, "sender": text, "when": proactiveConditions,
          ])),
      ]),
    ]
  ).named("BeaconAnswer")

  static let presentVisitors = object([
    "visitors": array(of: WatchRoutes.visitor.schema.named("PresentVisitor")),
    "total": count.described("Visitors that match the filters."),
    "on_site": count.described("Visitors on the site."),
    "is_full": bool.described(
      "Whether there may be more: a gateway keeps a limited number of each workspace, without "
        + "those of which it got nothing for the longest time."), "enabled": bool, "now": time,
    "counts": object([
      "states": counted, "paths": counted, "sources": counted, "countries": counted,
      "visits": counted,
    ]).described(
      "How many visitors each value of a filter would leave, the most frequent first. The filter "
        + "itself does not count, the others do."),
  ]).named("PresentVisitors")
  private static let counted = array(
    of: object([
      "value": text.described("As the filter takes it; empty: not known."),
      "count": count.described("Visitors."),
    ])
  ).described("By value.")
  static let presentVisitor = object([
    "visitor": WatchRoutes.visitorWithTrail.schema.named("PresentVisitorWithTrail")
  ]).named("PresentVisitorAnswer")
  static let firstWords = input(["body": string(1...Limits.bodyBytes)]).named("FirstWords")

  static let proactiveConditions = object(
    sometimes: [
      "path": text, "seconds": count, "scroll_percent": count,
      "audience": word(ProactiveRoutes.audiences), "when_open": bool, "when_available": bool,
      "once": bool, "attributes": object,
    ]
  ).named("ProactiveConditions")
  private static let proactiveMessage = ProactiveRoutes.message.schema.named("ProactiveMessage")
  static let proactiveMessages = page("proactive_messages", of: proactiveMessage)
    .named("ProactiveMessages")
  static let oneProactiveMessage = object(["proactive_message": proactiveMessage])
    .named("ProactiveMessageAnswer")

  private static let proactiveBody = string(1...ProactiveRoutes.bodyBytes)
  private static let proactiveName = string(1...ProactiveRoutes.nameBytes)
  private static let proactiveMembers = [
    "sender_name": string(0...ProactiveRoutes.senderBytes), "is_enabled": bool,
    "conditions": input(optional: [
      "path": string(0...ProactiveRoutes.pathBytes, pattern: "^([/*].*)?$"),
      "seconds": int(0...ProactiveRoutes.secondsMax), "scroll_percent": int(0...100),
      "audience": word(ProactiveRoutes.audiences), "when_open": bool, "when_available": bool,
      "once": bool,
      "attributes": map(
        of: any(of: [string(0...APILimits.attributeTextBytes), number, bool]),
        nameLength: 1...APILimits.attributeNameBytes, countMax: ProactiveRoutes.attributesMax),
    ]),
  ]
  static let newProactiveMessage = input(
    ["name": proactiveName, "body": proactiveBody], optional: proactiveMembers
  ).named("NewProactiveMessage")
  static let proactiveMessagePatch = input(
    optional: proactiveMembers.merging(["name": proactiveName, "body": proactiveBody]) {
      first, _ in first
    }
  ).named("ProactiveMessagePatch")
}

/// Schemas of the widget and of visitors.
import Chat
import Directory
import Tokens

extension Schema {
  private static let workspaceKey = string(1...APILimits.secretBytes)
    .described("The workspace's public key, from the snippet.")
  private static let context = object.described(
    "Strings: page, referrer, title, locale, timezone, user_agent, screen. Others are ignored."
  )
  private static let attributes = map(
    of: any(of: [string(0...APILimits.attributeTextBytes), number, bool]),
    nameLength: 1...APILimits.attributeNameBytes, countMax: VisitorProfile.attributesMax)
  static let visitorName = string(0...APILimits.nameBytes)

  static let friendEvents = page(
    "friend_events", of: VisitorRoutes.friendEvent.schema.named("FriendEvent")
  ).named("FriendEvents")

  static let widgetConfig = object([
    "workspace": object(["name": text]), "greeting": greeting.orNull, "accent": text.orNull,
    "locale": text, "theme": text, "position": text, "preview": bool, "sound": bool,
    "teaser": bool, "hours": object(["is_open": bool, "opens_at": time.orNull]),
    "operators_available": bool, "prechat": prechat, "offline": botMessage,
    "menu": object(["id": id, "actions": array(of: object)]).orNull, "rating": rating,
    "queue": object(["show_position": bool, "close_after_minutes": count]),
    "attachments": object(["enabled": bool, "bytes_max": count, "types": array(of: text)]),
  ]).named("WidgetConfig")

  static let visitorTokenRequest = input(
    ["workspace": workspaceKey],
    optional: [
      "refresh": string(0...APILimits.secretBytes), "session": id, "new_session": bool,
      "context": context, "identity": string(0...TokenAuthority.tokenBytesMax),
      "attributes": attributes, "team": chosenTeam,
      "watcher": string(BeaconLimits.secretBytes).described(
        "The secret of the browser's beacons (POST /widget/visit): operators then see the visitor "
          + "among those on the site."),
      "proactive": id,
    ]
  ).named("VisitorTokenRequest")
  static let visitorToken = object(
    [
      "token": text, "refresh": text, "session": id, "visitor": named, "expires_at": time,
      "status": word(["waiting", "active", "closed"]),
    ],
    sometimes: ["fresh": bool.described("The sent refresh secret was invalid; delete stored data.")]
  ).named("VisitorToken")

  static let visitorProfile = input(optional: [
    "name": visitorName, "email": visitorEmail, "attributes": attributes,
    "team": chosenTeam,
  ]).named("VisitorProfile")
  private static let chosenTeam = string(0...APILimits.tagBytes).described(
    "The id or name of the team for a conversation without a message; an unknown one is ignored.")
  static let profileAnswer = object([
    "visitor": object(["id": id, "name": text, "email": text.orNull, "attributes": object])
  ]).named("VisitorProfileAnswer")

  static let visitedPage = input(
    [
      "page": string(1...BeaconLimits.bytes).described(
        "The address without its query; a longer one is cut to 300 bytes.")
    ],
    optional: ["title": string(0...BeaconLimits.bytes)]
  ).named("VisitedPage")

  static let offlineMessage = input(
    [
      "workspace": workspaceKey, "email": email, "message": string(1...Limits.bodyBytes),
    ], optional: ["name": visitorName, "context": context]
  ).named("OfflineMessage")
  static let openedSession = object(["session": id]).named("OpenedSession")
  static let ratingInput = input(
    ["rating": int(1...5)], optional: ["comment": string(0...APILimits.commentCharacters)]
  ).named("Rating")

  static let oneVisitor = object(["visitor": visitor]).named("VisitorAnswer")
  static let visitorPatch = input(optional: ["name": visitorName, "email": visitorEmail])
    .named("VisitorPatch")
  static let foundVisitors = object(["visitors": array(of: visitor)]).named("FoundVisitors")
  static let mergePreview = object([
    "visitor": visitor.described("The surviving visitor, as before the merge."),
    "other": visitor.orNull.described("The other one; null: both are merged already."),
    "attributes": object,
  ]).named("MergePreview")
  static let visitorMerge = input(
    ["visitor": id],
    optional: ["take": array(of: word(VisitorRoutes.takenFields))]
  ).named("VisitorMerge")
  static let mergedVisitor = object(["visitor": visitor, "moved_conversations": count])
    .named("MergedVisitor")
  static let visitorExport = object([
    "visitor": object, "merged": array(of: object), "sessions": array(of: object),
    "attachments": array(of: object), "follows": array(of: object), "channels": array(of: object),
    "ratings": array(of: object), "refused": array(of: object),
  ]).named("VisitorExport")
}

extension [QueryParameter] {
  static let visitorSearch: [QueryParameter] = [
    QueryParameter(name: "q", schema: .search(1), isRequired: true),
    QueryParameter(name: "except", schema: .id), .limit(VisitorRoutes.searchMax),
  ]
  static let mergePreview: [QueryParameter] = [
    QueryParameter(name: "visitor", schema: .id, isRequired: true)
  ]
  static let workspace: [QueryParameter] = [
    QueryParameter(
      name: "workspace", schema: .line(1...APILimits.secretBytes), isRequired: true)
  ]
}

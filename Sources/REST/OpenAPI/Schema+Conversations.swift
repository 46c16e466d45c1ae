/// Schemas of conversations, messages and the queue.
import Chat
import Conversations
import Postgres
import Primitives

extension Schema {
  static let visitor = VisitorRoutes.visitor.schema.named("Visitor")

  /// A conversation in a list; the socket's `inbox` events contain the same.
  static let listedConversation = conversation(visitor: named.orNull).named("ListedConversation")
  static let conversations = object([
    "conversations": array(of: listedConversation), "total": count, "waiting_count": count,
    "active_count": count, "mine_count": count, "closed_count": count, "next_cursor": nextCursor,
  ]).named("Conversations")
  /// A conversation with its visitor's profile.
  static let oneConversation = object([
    "conversation": conversation(visitor: visitor.orNull, trail: trail)
  ]).named("Conversation")

  private static let trail = array(of: object(["page": text, "title": text, "at": time]))
    .described("The pages that the visitor has opened, the oldest first.")

  /// - Parameter trail: nil in lists.
  private static func conversation(visitor: Schema, trail: Schema? = nil) -> Schema {
    var members: [String: Schema] = [
      "id": id, "title": text, "status": word(["waiting", "active", "closed"]),
      "visitor": visitor, "assignee": named.orNull,
      "team": named.orNull.described("Whose members take it; null: every operator."),
      "last_seq": seq,
      "last_message": object(
        ["preview": text, "role": text, "at": time],
        sometimes: ["operator": named.described("Who wrote it, if another than the assignee.")]
      ).orNull,
      "read_seq": seq.described("The highest seq that any operator has read."),
      "unread": count.described("The visitor's messages that no operator has read, at most 100."),
      "visitor_read_seq": seq, "created_at": time, "updated_at": time,
      "waiting_since": time.orNull.described("Since when it waits; null: it does not."),
      "queue_position": count.orNull.described(
        "1 is next among those of its team; null if it does not wait, or 1,000 are ahead of it."),
      "due_at": time.orNull.described(
        "When the first response or the end of the conversation is due; null: no target runs."),
      "missed": array(of: word(Targets.allCases.map(\.rawValue))).described(
        "The targets that were missed."),
      "claimed_at": time.orNull, "closed_at": time.orNull,
      "channel": text.described("Where the visitor writes: web, or a channel such as line."),
      "context": object.described(
        "Page, referrer, browser and so on, as the widget sent them, and the country."),
      "tags": array(of: text),
      "rating": int(1...5).orNull.described("The visitor's rating."),
      "rating_comment": string(0...160).orNull.described(
        "The first 160 characters of the comment."),
    ]
    members["trail"] = trail
    return object(members)
  }

  static let conversationPatch = input([
    "title": line(0...ConversationTitle.charactersMax).orNull
      .described("One line, in characters; null removes it.")
  ]).named("ConversationPatch")
  static let deletedConversations = page(
    "conversations",
    of: ConversationRoutes.deletedConversation.schema.named("DeletedConversation")
  ).named("DeletedConversations")

  private static let sender = object([
    "kind": word(Role.allCases.map { "\($0.text)" }), "id": id.orNull, "name": text,
  ]).named("Sender")
  static let messages = object([
    "messages": array(
      of: object(
        [
          "session": id, "seq": seq, "id": id, "sender": sender,
          "kind": word(EntryKind.allCases.map { "\($0.text)" }), "body": text, "at": time,
        ], sometimes: ["payload": object]
      ).named("Message")),
    "more": bool, "head": seq, "epoch": text,
  ]).named("Messages")
  static let hits = page(
    "hits",
    of: object([
      "session": id, "seq": seq, "id": id, "at": time, "sender": sender, "snippet": text,
      "conversation": object(["id": id, "title": text, "status": text]),
    ]).named("Hit")
  ).named("Hits")

  static let stored = object(["id": id, "seq": seq, "at": time]).named("Stored")
  static let newMessage = any(of: [
    message(["body": string(1...Limits.bodyBytes)], ["payload": object]),
    message(["payload": object], ["body": string(0...Limits.bodyBytes)]),
  ]).named("NewMessage")
  static let sentMessage = any(of: [newMessage, fileMessage]).named("SentMessage")
  static let newConversation = input(optional: [
    "id": id, "title": line(0...ConversationTitle.charactersMax),
    "visitor": any(of: [
      input(optional: [
        "external_id": string(1...APILimits.externalIDBytes), "name": visitorName,
        "email": visitorEmail,
      ]),
      input(["id": id.described("A visitor of the workspace; excludes the other members.")]),
    ]),
    "message": newMessage,
  ]).named("NewConversation")
  static let newNote = input(
    ["body": string(1...Limits.bodyBytes)], optional: ["id": id]
  ).named("NewNote")

  private static func message(_ required: [String: Schema], _ other: [String: Schema]) -> Schema {
    let optional = ["id": id, "kind": word(["text", "note"])].merging(other) { first, _ in first }
    return input(required, optional: optional)
  }

  static let conversationTags = input([
    "tags": array(of: tagName, 0...APILimits.tagsOfConversation)
  ]).named("ConversationTags")
  static let readMark = input(["seq": seq]).named("ReadMark")
  static let readSeq = object(["read_seq": seq]).named("ReadSeq")

  private static let reason = string(0...APILimits.reasonBytes)
    .described("The reason, which is added as a note.")
  static let transfer = input(optional: [
    "to": id.described(
      "The id of an operator; without it and `to_team`, back to the queue."),
    "to_team": id,
    "reason": reason,
  ]).named("Transfer")
  static let close = input(optional: ["reason": reason]).named("Close")
}

extension [QueryParameter] {
  static let conversationFilters: [QueryParameter] = [
    QueryParameter(
      name: "status", schema: .word(["waiting", "active", "closed", "open", "all"])),
    QueryParameter(name: "assignee", schema: .assigneeFilter),
    QueryParameter(name: "tag", schema: .line),
    QueryParameter(name: "team", schema: .teamFilter),
    QueryParameter(name: "visitor", schema: .id),
    QueryParameter(name: "language", schema: .languageFilter),
    QueryParameter(name: "waiting_minutes", schema: .waitingFilter),
    QueryParameter(name: "due_minutes", schema: .dueFilter),
    QueryParameter(name: "attribute", schema: .attributeFilter),
    QueryParameter(name: "channel", schema: .channelFilter),
    QueryParameter(name: "q", schema: .search(0)),
    .cursor, .limit(APILimits.conversations),
  ]

  static let deletedConversations: [QueryParameter] = [
    QueryParameter(name: "q", schema: .search(0)), .cursor, .limit,
  ]

  /// At most one of `after`, `before` and `around`.
  static let messageRange: [QueryParameter] = [
    QueryParameter(name: "after", schema: .seq), QueryParameter(name: "before", schema: .seq),
    QueryParameter(name: "around", schema: .seq), .limit(Limits.pageEntries),
  ]

  static let export: [QueryParameter] = [
    QueryParameter(name: "since", schema: .moment), QueryParameter(name: "until", schema: .moment),
    .cursor, .limit,
  ]

  static let messageSearch: [QueryParameter] = [
    QueryParameter(name: "q", schema: .search(1), isRequired: true),
    .cursor, .limit,
  ]

  /// At most `AnalyticsRoutes.daysMax` days; without any the last 30.
  static let days: [QueryParameter] = [
    QueryParameter(name: "from", schema: .date), QueryParameter(name: "to", schema: .date),
    QueryParameter(
      name: "days",
      schema: .int(1...AnalyticsRoutes.daysMax).described(
        "Instead of `from`: the number of days that end with `to`.")),
  ]

  /// What reports are limited to.
  static let scope: [QueryParameter] = [
    QueryParameter(name: "operator", schema: .id.described("Only of this operator.")),
    QueryParameter(name: "team", schema: .id.described("Only of this team.")),
    QueryParameter(name: "channel", schema: .channelFilter),
    QueryParameter(name: "tag", schema: .line),
  ]

  static let ratings: [QueryParameter] =
    scope + [
      QueryParameter(
        name: "rating", schema: .int(1...5).described("Only with this number of stars.")),
      QueryParameter(
        name: "comments", schema: .word(["only"]).described("`only`: those with a comment.")),
      .cursor, .limit,
    ]

  static let page: [QueryParameter] = [.cursor, .limit]
}

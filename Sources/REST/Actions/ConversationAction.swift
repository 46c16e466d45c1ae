/// One change of a conversation, as macros and bulk requests list them. What a member may do to one
/// conversation by its own route, an action does by the same functions.
import Automation
import Chat
import Conversations
import Directory
import JSON
import Primitives

enum ConversationAction: Sendable, Equatable {
  /// A message to the visitor. Its fields, such as `{{visitor.name}}`, are filled in.
  case reply(String)
  /// The text of a canned reply, by the name of the reply object.
  case cannedReply(String)
  case note(String)
  case addTags([String])
  case removeTags([String])
  case assign(Receiver)
  case close(reason: String?)
  case reopen

  enum Receiver: Sendable, Equatable {
    /// The member who runs it.
    case caller
    case queue
    case member(Identifier)
    /// Nil: no team.
    case team(Identifier?)
  }

  static let types = ["reply", "note", "add_tags", "remove_tags", "assign", "close", "reopen"]
  /// Actions of one macro or bulk request.
  static let countMax = 10

  var type: String {
    switch self {
    case .reply, .cannedReply: "reply"
    case .note: "note"
    case .addTags: "add_tags"
    case .removeTags: "remove_tags"
    case .assign: "assign"
    case .close: "close"
    case .reopen: "reopen"
    }
  }
}

extension ConversationAction {
  /// The actions of a body, checked; nil if it has none.
  static func list(in object: JSONObject) throws(Problem) -> [ConversationAction]? {
    guard object.member("actions") != nil else { return nil }
    var actions: [ConversationAction] = []
    for action in try object.objects("actions", countMax: countMax) {
      actions.append(try ConversationAction(action))
    }
    guard !actions.isEmpty else {
      throw .invalidMember("actions", "an array of 1 to \(countMax) actions")
    }
    return actions
  }

  init(_ object: JSONObject) throws(Problem) {
    guard let type = try object.word("type", of: ConversationAction.types) else {
      throw .missing("type", in: object)
    }
    switch type {
    case "reply":
      let text = try object.nonEmptyString("text", bytesMax: Limits.bodyBytes)
      let name = try object.nonEmptyString("object", bytesMax: APILimits.tagBytes)
      switch (text, name) {
      case (let text?, nil): self = .reply(text)
      case (nil, let name?): self = .cannedReply(name)
      default:
        throw .member("text", in: object, "or the member “object” must be given, and not both.")
      }
    case "note":
      self = .note(try object.requiredString("text", bytesMax: Limits.bodyBytes))
    case "assign" where object.has("to_team"):
      guard !object.has("to") else {
        throw .invalidMember(
          "to_team", in: object, "missing if there is “to”: choose an operator or a team")
      }
      self = .assign(.team(try object.identifier("to_team")))
    case "assign":
      switch try object.requiredString("to", bytesMax: Identifier.textByteCount) {
      case "me": self = .assign(.caller)
      case "queue": self = .assign(.queue)
      default:
        guard let id = try? object.identifier("to") else {
          throw .invalidMember("to", in: object, "me, queue or the id of an operator")
        }
        self = .assign(.member(id))
      }
    case "close":
      let reason = try object.string("reason", bytesMax: APILimits.reasonBytes)
      self = .close(reason: reason.flatMap { QueueRoutes.visible($0) })
    case "reopen": self = .reopen
    default:
      let found = try object.strings(
        "tags", countMax: APILimits.tagsOfConversation, bytesMax: APILimits.tagBytes)
      let given = found ?? []
      guard !given.isEmpty else { throw .missing("tags", in: object) }
      var tags: [String] = []
      for name in given { tags.append(try tagName(name)) }
      self = type == "add_tags" ? .addTags(tags) : .removeTags(tags)
    }
  }
}

extension API {
  /// Actions whose canned replies are texts, so that a run cannot fail half-way for a name that
  /// does not exist. Throws for a canned reply or an operator that the workspace does not have.
  func resolved(
    _ actions: [ConversationAction], in workspace: Identifier
  ) async throws(Problem) -> [ConversationAction] {
    var resolved: [ConversationAction] = []
    for action in actions {
      switch action {
      case .cannedReply(let name):
        guard let text = try await database.run(ReplyObjects.text(of: name, in: workspace)) else {
          throw .noSuchReply(name)
        }
        resolved.append(.reply(text))
      case .assign(.member(let id)):
        guard try await database.run(Members.isActive(id, in: workspace)) else {
          throw .noSuchMember
        }
        resolved.append(action)
      case .assign(.team(let id?)):
        guard try await database.run(Teams.exists(id, in: workspace)) else { throw .noSuchTeam }
        resolved.append(action)
      default: resolved.append(action)
      }
    }
    return resolved
  }
}

extension Problem {
  static func noSuchReply(_ name: String) -> Problem {
    Problem(
      status: 422, type: "no_such_reply", title: "No such canned reply",
      detail: "The workspace has no reply object “\(name)” with a text. Choose another one.")
  }
}

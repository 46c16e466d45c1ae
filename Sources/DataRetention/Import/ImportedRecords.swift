/// People, conversations and messages of another system, in Chirrup's terms. Keys are the other
/// system's ids.
import Chat
import JSON
import Primitives
import Texts

/// The other system, and its words for what is imported.
struct ImportedSystem {
  /// `Chatwoot`.
  var name: String
  /// `chatwoot`: the key of a conversation's context, and part of the audit log's action.
  var word: String
  /// Tells the sources of one workspace apart, see `DerivedIdentifiers`.
  var space: String
  /// More for the audit log.
  var details: [(String, Int64)] = []
  var member: String
  var team: String
  var tag: String
  var reply: String
  var contact: String
  var conversation: String
  var message: String
  var rating: String
}

struct ImportedMember {
  var key: String
  var email: String?
  var name: String
  var isAdmin: Bool
  var createdAt: WallTime?
}

struct ImportedTeam {
  var key: String
  var name: String
  /// Keys.
  var members: [String]
}

struct ImportedTag {
  var key: String
  var name: String
  var colour: String?
}

struct ImportedReply {
  var key: String
  var shortcut: String
  var text: String
}

struct ImportedContact {
  var key: String
  /// For a finding: the key, unless it has an address.
  var shownKey: String
  var place: Int64
  /// Their first conversations, by which an erased visitor is known.
  var conversations: [String]
  var externalID: String?
  var name: String
  var email: String?
  /// In order of importance: only the first ones are kept.
  var attributes: [(String, JSONValue)]
  var isBlocked = false
  var createdAt: WallTime
  var seenAt: WallTime
}

struct ImportedConversation {
  var key: String
  var place: Int64
  var isClosed: Bool
  /// Another state, and what becomes of it: a finding.
  var remark: String?
  var contact: Contact?
  var assignee: String?
  var assigneeName: String?
  var team: String?
  var createdAt: WallTime
  var updatedAt: WallTime
  var tags: [String]
  /// `web`, `email`, …
  var channel: String
  var context: [String: JSONValue]
  var visitorSeenAt: WallTime?
  var agentsSeenAt: WallTime?
  var rating: Rating?

  struct Contact {
    var key: String
    var externalID: String?
    var conversations: [String]
  }

  struct Rating {
    /// 1 to 5; others are not imported.
    var value: Int64
    var comment: String?
    var agent: String?
    var at: WallTime?
  }
}

struct ImportedMessage {
  /// Entries that one message becomes at most; what does not fit is left out.
  static let partsMax = 16

  enum Role: String {
    case visitor, `operator`, bot, system
  }

  var key: String
  /// The key of its conversation.
  var conversation: String
  var role: Role
  var isNote = false
  /// The member who wrote it, with name.
  var user: String?
  var name: String?
  /// Nil: that of its conversation.
  var at: WallTime?
  /// Empty: there is nothing to import, and `reason` says why.
  var texts: [String] = []
  var reason: String?
}

extension ImportedMessage {
  /// Bytes of a text, with its markup, that are read from a file.
  private static let sourceBytes = 512 * 1_024

  /// The part of a text that is read.
  static func cut(_ text: String) -> String {
    text.utf8.count > sourceBytes ? PlainText.parts(text, bytes: sourceBytes)[0] : text
  }

  /// Divides a text that is too long into entries. An empty one is not imported.
  mutating func setText(_ whole: String) {
    let text = whole.filter { $0 != "\0" }
    guard text.contains(where: { !$0.isWhitespace }) else {
      reason = "without text: not imported"
      return
    }
    texts = PlainText.parts(text, bytes: Limits.bodyBytes)
    if texts.count > Self.partsMax {
      texts.removeLast(texts.count - Self.partsMax)
      reason = "longer than \(Self.partsMax) messages: the end is left out"
    } else if texts.count > 1 {
      reason = "longer than one message: imported as several"
    }
  }
}

/// The members of a conversation's context that Chirrup knows, if they are valid.
struct ConversationContext {
  private static let pageBytes = 2_048
  private static let languageBytes = 35

  var page: String?
  var language: String?

  var members: [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    if let page, page.hasPrefix("http"), page.utf8.count <= Self.pageBytes {
      members["page"] = .string(page)
    }
    if let language, !language.isEmpty, language.utf8.count <= Self.languageBytes {
      members["locale"] = .string(language)
    }
    return members
  }
}

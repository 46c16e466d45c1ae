/// What several areas of the document have in common.
import Chat
import Postgres
import Primitives

extension Schema {
  static let problem = Schema.object(
    [
      "type": string(pattern: "^urn:chirrup:problem:[a-z_]+$")
        .saying("A stable name for programs."),
      "title": text, "status": int(400...599),
      "detail": text.saying("What happened and what to do, for a person."),
    ],
    sometimes: [
      "winner": named.saying("Who was faster (409 already_claimed)."),
      "capacity": count.saying("How many conversations an operator may have (409 at_capacity)."),
    ]
  ).named("Problem")

  /// Somebody, by id and name.
  static let named = object(["id": id, "name": text])

  /// A write that needs no words; an object is taken, and what is in it ignored.
  static let nothing = input().named("Nothing")

  /// In a query: no target of a request holds control characters, percent-encoded or not.
  static let line = string(pattern: linePattern)
  private static let linePattern = #"^[^\x00-\x1f\x7f]*$"#

  static func line(_ bytes: ClosedRange<Int>) -> Schema { string(bytes, pattern: linePattern) }

  static func search(_ least: Int) -> Schema { line(least...APILimits.searchBytes) }

  static let cursor = string(0...APILimits.cursorBytes, format: "cursor")
    .saying("What `next_cursor` of the page before says, under the same filters.")
  static let nextCursor = text.orNull.saying("Null on the last page.")
  static let seq = int(0...CommandDecoder.integerMax)

  static let role = word(Membership.allCases.map(\.rawValue))
  static let colour = string(pattern: "^#[0-9a-f]{6}$")
  /// What `JSONObject.isTime` takes; the calendar is PostgreSQL's to check.
  static let moment = string(0...40, format: "date-time")
  static let name = string(1...APILimits.nameBytes)
  static let password = string(APILimits.passwordCharactersMin...APILimits.passwordBytes)
  static let link = string(0...ReplyPayload.valueBytes, pattern: #"^https?://[^\x00-\x20\x7f]*$"#)
  /// Of a member: it must be there.
  static let email = string(
    0...APILimits.emailBytes, pattern: #"^[^@\x00-\x20\x7f]+@[^@\x00-\x20\x7f]+$"#)
  /// Of a visitor: empty takes it away.
  static let visitorEmail = string(
    0...APILimits.emailBytes,
    pattern: #"^[ \t]*([^@\s\x00-\x20\x7f]+@[^@\s\x00-\x20\x7f]+)?[ \t]*$"#)

  /// `{"tags":[…],"next_cursor":…}`.
  static func page(_ list: String, of shape: Schema) -> Schema {
    object([list: array(of: shape), "next_cursor": nextCursor])
  }
}

/// A parameter of the query.
struct QueryParameter: Sendable {
  var name: String
  var schema: Schema
  var isRequired = false

  static let cursor = QueryParameter(name: "cursor", schema: .cursor)

  static func limit(_ most: Int) -> QueryParameter {
    QueryParameter(name: "limit", schema: .int(1...Int64(most)))
  }

  /// Of most lists.
  static let limit = limit(APILimits.list)
}

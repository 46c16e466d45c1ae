/// Schemas that several areas share.
import Chat
import Directory
import Postgres
import Primitives

extension Schema {
  static let problem = Schema.object(
    [
      "type": string(pattern: "^urn:chirrup:problem:[a-z_]+$")
        .described("A stable name for programs."),
      "title": text, "status": int(400...599),
      "detail": text.described("What happened, why, and what to do."),
    ],
    sometimes: [
      "received": count,
      "pointer": text.described(
        "The member of the body that is wrong, as a JSON Pointer (RFC 6901), such as /email."),
      "reason": text.described(
        "What is wrong with that member, as a sentence without its subject: for a form that shows "
          + "it at the field."),
      "winner": named.described(
        "The operator who has claimed the conversation (409 already_claimed)."),
      "capacity": count.described("The most open conversations of an operator (409 at_capacity)."),
      "limit": word([
        "member", "key", "visitor", "workspace", "address", "account", "expensive",
        "idempotency_keys", "conversations", "drafts", "assist_tokens_per_day",
        "assist_tokens_per_month",
      ]).described(
        "The limit that was exceeded (429): requests of this member, API key, visitor or "
          + "workspace; attempts from this address or for this account; requests with expensive "
          + "statements at the same time; remembered Idempotency-Keys; open conversations of the "
          + "visitor; drafts at the same time; tokens of drafts a day or a month."),
    ]
  ).named("Problem")

  /// A person or workspace.
  static let named = object(["id": id, "name": text])

  /// The body of a write without members; members of an object are ignored.
  static let nothing = input().named("Nothing")

  /// A text in a query: no request target contains control characters, percent-encoded or not.
  static let line = string(pattern: linePattern)
  private static let linePattern = #"^[^\x00-\x1f\x7f]*$"#

  static func line(_ bytes: ClosedRange<Int>) -> Schema { string(bytes, pattern: linePattern) }

  static func search(_ least: Int) -> Schema { line(least...APILimits.searchBytes) }

  static let cursor = string(0...APILimits.cursorBytes, format: "cursor")
    .described("`next_cursor` of the previous page, with the same filters.")
  static let nextCursor = text.orNull.described("Null on the last page.")
  static let seq = int(0...CommandDecoder.integerMax)

  static let role = word(Membership.allCases.map(\.rawValue))
  static let colour = string(pattern: "^#[0-9a-f]{6}$")
  /// As `JSONObject.time` accepts it; PostgreSQL checks the calendar.
  static let moment = string(0...40, format: "date-time")
  static let name = string(1...APILimits.nameBytes)
  static let password = string(PasswordPolicy.charactersMin...APILimits.passwordBytes)
  static let link = string(0...ReplyPayload.valueBytes, pattern: #"^https?://[^\x00-\x20\x7f]*$"#)
  /// See `isEmailAddress`.
  static let email = string(
    0...APILimits.emailBytes, pattern: #"^[^@\s\x00-\x20\x7f]+@[^@\s\x00-\x20\x7f]+$"#)
  /// See `JSONObject.visitorEmail`.
  static let visitorEmail = string(
    0...APILimits.emailBytes,
    pattern: #"^[ \t]*([^@\s\x00-\x20\x7f]+@[^@\s\x00-\x20\x7f]+)?[ \t]*$"#)

  /// `{"tags":[…],"next_cursor":…}`.
  static func page(_ list: String, of shape: Schema) -> Schema {
    object([list: array(of: shape), "next_cursor": nextCursor])
  }
}

/// A parameter of a query.
struct QueryParameter: Sendable {
  var name: String
  var schema: Schema
  var isRequired = false

  static let cursor = QueryParameter(name: "cursor", schema: .cursor)

  static func limit(_ most: Int) -> QueryParameter {
    QueryParameter(name: "limit", schema: .int(1...Int64(most)))
  }

  /// The limit of most lists.
  static let limit = limit(APILimits.list)
}

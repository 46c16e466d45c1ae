import Postgres
import SharedSQL

/// Filters of the list of open conversations that no index serves: each reads the row or its
/// visitor. Open conversations are few; closed ones are not, so their lists do not have these.
public struct OpenFilters: Sendable, Equatable {
  /// A language tag of the visitor's browser in lower case; `de` matches `de-AT`.
  public var language: String?
  /// The least time that a conversation has waited.
  public var waitingMinutes: Int64?
  public var attribute: Attribute?
  /// A target is due within this time, or was missed.
  public var dueMinutes: Int64?
  /// Where the visitor writes: `web`, `line`, or the channel of imported conversations.
  public var channel: String?

  /// An attribute of the visitor, and its value as text.
  public struct Attribute: Sendable, Equatable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  public init() {}

  public var isEmpty: Bool { self == OpenFilters() }

  /// In the order of the parameters of `matches`.
  var parameters: [Parameter] {
    [
      .text(language), waitingMinutes.map { .int($0) } ?? .null, .text(attribute?.name),
      .text(attribute?.value), dueMinutes.map { .int($0) } ?? .null,
      .text(channel),
    ]
  }

  /// Condition: the conversation `s` matches. Each parameter is an expression of text, NULL without
  /// this filter.
  static func matches(
    language: SQL, minutes: SQL, name: SQL, value: SQL, due: SQL, channel: SQL
  ) -> SQL {
    """
    (\(language)::text IS NULL OR lower(s.context ->> 'locale') = \(language)::text
        OR starts_with(lower(s.context ->> 'locale'), \(language)::text || '-'))
      AND (\(minutes)::bigint IS NULL OR (s.status = 'waiting' AND
        \(ConversationQueue.listTime("s")) <= now() - \(minutes)::bigint * interval '1 minute'))
      AND (\(name)::text IS NULL OR (SELECT v.attributes ->> \(name)::text FROM visitors v
        WHERE v.id = s.user_id AND v.workspace_id = $1::uuid) = \(value)::text)
      AND (\(due)::bigint IS NULL OR (SELECT \(Targets.nextDue("s", "g")) FROM chat_targets g
        WHERE g.workspace_id = $1::uuid AND g.session_id = s.id)
          <= now() + \(due)::bigint * interval '1 minute')
      AND (\(channel)::text IS NULL OR s.channel = \(channel)::text)
    """
  }
}

/// Names and pictures of people on channels, which the platform tells on request. They are fetched
/// after a person's first event, and again when the person follows the account.
import Directory
import JSON
import Postgres
import Primitives

enum ChannelProfiles {
  static let attemptsMax: Int64 = 8
  /// The pause after a failed attempt; twice as long after each further one.
  static let pauseSeconds: Int64 = 15
  static let nameCharacters = 100
  static let pictureBytes = 1_000

  struct Wanted: Sendable, Equatable {
    var person: ChannelPeople.Person
    var visitor: Identifier
  }

  /// Takes people whose profile is due. The next attempt is due after a pause, unless this one
  /// succeeds.
  static func take(room: Int) -> Query {
    Query(
      """
      WITH due AS (
        SELECT workspace_id, channel, address FROM channel_people WHERE profile_due_at <= now()
        ORDER BY profile_due_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED
      )
      UPDATE channel_people p SET profile_attempts = p.profile_attempts + 1,
        profile_due_at = CASE WHEN p.profile_attempts + 1 < $2::bigint
          THEN now() + ($3::bigint << p.profile_attempts) * interval '1 second' END
      FROM due d WHERE p.workspace_id = d.workspace_id AND p.channel = d.channel
        AND p.address = d.address
      RETURNING p.workspace_id, p.channel, p.address, p.visitor_id
      """, [.int(Int64(room)), .int(attemptsMax), .int(pauseSeconds)])
  }

  static func wanted(_ rows: Rows) -> [Wanted] {
    (0..<rows.count).compactMap { row in
      guard let workspace = rows.uuid(row, 0), let channel = rows.text(row, 1),
        let address = rows.text(row, 2), let visitor = rows.uuid(row, 3)
      else { return nil }
      return Wanted(
        person: ChannelPeople.Person(workspace: workspace, channel: channel, address: address),
        visitor: visitor)
    }
  }

  /// Stores a profile. A name that the visitor has, for example of an operator's hand, stays.
  /// Columns: the person's conversations, whose lists show the name.
  static func store(_ profile: ChannelProfile, of wanted: Wanted) -> Query {
    let picture = profile.pictureURL.flatMap { $0.utf8.count <= pictureBytes ? $0 : nil }
    var attributes: [String: JSONValue] = ["channel": .string(wanted.person.channel)]
    if let picture { attributes["picture_url"] = .string(picture) }
    return Query(
      """
      WITH settled AS (
        UPDATE channel_people SET profile_due_at = NULL, profile_attempts = 0
        WHERE workspace_id = $1::uuid AND channel = $2::text AND address = $3::text
      ), named AS (
        UPDATE visitors v SET name = CASE WHEN v.name = '' THEN $5::text ELSE v.name END,
          attributes = v.attributes || $6::jsonb
        WHERE v.workspace_id = $1::uuid AND v.id IN (SELECT unnest(ARRAY[o.id, o.merged_into])
          FROM visitors o WHERE o.workspace_id = $1::uuid AND o.id = $4::uuid)
      )
      SELECT session_id FROM channel_conversations
      WHERE workspace_id = $1::uuid AND channel = $2::text AND address = $3::text
      """,
      [
        .uuid(wanted.person.workspace), .text(wanted.person.channel), .text(wanted.person.address),
        .uuid(wanted.visitor), .text(String(profile.name.prefix(nameCharacters))),
        .json(JSONValue.object(attributes).text),
      ])
  }

  /// There is no profile: the platform has said so.
  static func giveUp(_ wanted: Wanted) -> Query {
    Query(
      """
      UPDATE channel_people SET profile_due_at = NULL
      WHERE workspace_id = $1::uuid AND channel = $2::text AND address = $3::text
      """,
      [
        .uuid(wanted.person.workspace), .text(wanted.person.channel), .text(wanted.person.address),
      ])
  }
}

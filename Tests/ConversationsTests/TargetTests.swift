import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

/// Targets of conversations: when they are due in business hours, and which were missed.
@Suite struct TargetTests {
  private static let weekdays =
    #""days":["#
    + (1...5).map { #"{"day":\#($0),"from":"09:00","to":"17:00"}"# }
    .joined(separator: ",") + "]"

  private func due(_ hours: String, _ since: String, _ minutes: Int64) async throws -> String? {
    let place = try await Workplace()
    let rows = try await place.database.run(
      Query(
        """
        SELECT to_char(chirrup_due($1::jsonb, $2::text::timestamptz, $3::bigint::integer)
          AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')
        """, [.json(Array(hours.utf8)), .text(since), .int(minutes)]))
    return rows.text(0, 0)
  }

  @Test("a target is due after so many minutes of business hours")
  func hours() async throws {
    let utc = #"{"always":false,"time_zone":"UTC","holidays":["2026-11-26"],\#(Self.weekdays)}"#
    // A Wednesday; the Thursday after it is a holiday.
    let expected: [(since: String, minutes: Int64, due: String?)] = [
      ("2026-11-25T10:00:00Z", 30, "2026-11-25 10:30"),
      ("2026-11-25T07:00:00Z", 30, "2026-11-25 09:30"),
      ("2026-11-25T16:45:00Z", 15, "2026-11-25 17:00"),
      ("2026-11-25T16:45:00Z", 30, "2026-11-27 09:15"),
      ("2026-11-27T18:00:00Z", 480, "2026-11-30 17:00"),
      ("2026-11-27T18:00:00Z", 481, "2026-12-01 09:01"),
    ]
    for (since, minutes, moment) in expected {
      #expect(try await due(utc, since, minutes) == moment, "\(since) \(minutes)")
    }
    #expect(try await due(#"{"always":true}"#, "2026-11-25T10:00:00Z", 1) == "2026-11-25 10:01")
    #expect(
      try await due(
        #"{"always":false,"time_zone":"UTC","days":[],"holidays":[]}"#, "2026-11-25T10:00:00Z", 1)
        == nil)
    // Two spans that overlap count once, and one may pass midnight.
    let overlapping = """
      {"always":false,"time_zone":"UTC","holidays":[],"days":[
      {"day":3,"from":"09:00","to":"12:00"},{"day":3,"from":"10:00","to":"11:00"},
      {"day":3,"from":"22:00","to":"02:00"}]}
      """
    #expect(try await due(overlapping, "2026-11-25T09:00:00Z", 180) == "2026-11-25 12:00")
    #expect(try await due(overlapping, "2026-11-25T09:00:00Z", 360) == "2026-11-26 01:00")
    // Clocks go back by an hour in the night before Sunday.
    let berlin = #"""
      {"always":false,"time_zone":"Europe/Berlin","holidays":[],"days":[
      {"day":6,"from":"22:00","to":"06:00"}]}
      """#
    #expect(try await due(berlin, "2026-10-24T20:00:00Z", 540) == "2026-10-25 05:00")
  }

  private func compute(_ place: Workplace) async throws -> Set<Identifier> {
    Set(try await place.database.ask(Targets.compute(in: place.id)))
  }

  private func settle(_ place: Workplace) async throws -> Set<Identifier> {
    Set(try await place.database.ask(Targets.settle(in: place.id)))
  }

  private func run(_ sql: StaticString, _ session: Identifier, in place: Workplace) async throws {
    _ = try await place.database.run(Query(sql, [.uuid(place.id), .uuid(session)]))
  }

  private func row(_ session: Identifier, in place: Workplace) async throws -> Conversation {
    let rows = try await place.database.run(conversationQuery(session, of: place.id))
    return try #require(decodeConversation(rows))
  }

  /// The targets that were missed, then those that were due.
  private func outcome(_ place: Workplace) async throws -> [Int64] {
    let found = try await place.database.ask(
      Targets.outcomes(
        by: nil, in: place.id, from: "2020-01-01", to: "2099-01-01", zone: "UTC"))
    let sum = found.values.reduce(into: Targets.Outcome(), +=)
    return sum.missed + sum.due
  }

  @Test("a missed target is recorded once, and one that was met is not")
  func lifecycle() async throws {
    let place = try await Workplace()
    let late = try await place.conversation(messages: ["hello"])
    let met = try await place.conversation(messages: ["hello"])
    #expect(try await compute(place) == [])
    try await place.set(queue: #"{"first_response_minutes":10,"resolution_minutes":60}"#)
    #expect(try await compute(place) == [late, met])
    #expect(try await compute(place) == [])
    #expect(try await settle(place) == [])
    let begun = try await row(late, in: place)
    let since = try #require(begun.waitingSince)
    #expect(begun.dueAt?.microseconds == since.microseconds + 600_000_000)
    #expect(begun.missed == [])

    try await run(
      """
      UPDATE chat_sessions SET first_response_at = waiting_since + interval '5 minutes'
      WHERE workspace_id = $1::uuid AND id = $2::uuid
      """, met, in: place)
    #expect(
      try await row(met, in: place).dueAt?.microseconds
        == (try #require(try await row(met, in: place).waitingSince)).microseconds + 3_600_000_000)
    for session in [late, met] {
      try await run(
        """
        UPDATE chat_targets SET first_response_due_at = now() - interval '1 minute'
        WHERE workspace_id = $1::uuid AND session_id = $2::uuid
        """, session, in: place)
    }
    try await run(
      """
      UPDATE chat_sessions SET first_response_at = now() - interval '2 minutes'
      WHERE workspace_id = $1::uuid AND id = $2::uuid
      """, met, in: place)
    #expect(try await settle(place) == [late])
    #expect(try await settle(place) == [])
    #expect(try await row(late, in: place).missed == [.firstResponse])
    #expect(try await row(met, in: place).missed == [])
    #expect(try await outcome(place) == [1, 0, 2, 0])

    // Closed before the end of its time; the other one too late.
    try await run(
      """
      UPDATE chat_targets SET resolution_due_at = now() - interval '1 minute'
      WHERE workspace_id = $1::uuid AND session_id = $2::uuid
      """, late, in: place)
    for session in [late, met] {
      try await run(
        """
        UPDATE chat_sessions SET status = 'closed', closed_at = now(), waiting_since = NULL
        WHERE workspace_id = $1::uuid AND id = $2::uuid
        """, session, in: place)
    }
    #expect(try await settle(place) == [late, met])
    #expect(try await settle(place) == [])
    #expect(try await row(late, in: place).missed == [.firstResponse, .resolution])
    #expect(try await row(late, in: place).dueAt == nil)
    #expect(try await outcome(place) == [1, 1, 2, 1])

    // Reopened, it starts again, and what was missed stays.
    try await run(
      """
      UPDATE chat_sessions SET status = 'waiting', closed_at = NULL, waiting_since = now()
      WHERE workspace_id = $1::uuid AND id = $2::uuid
      """, late, in: place)
    #expect(try await compute(place) == [late])
    #expect(try await settle(place) == [])
    let again = try await row(late, in: place)
    let reopened = try #require(again.waitingSince)
    #expect(again.dueAt?.microseconds == reopened.microseconds + 600_000_000)
    #expect(again.missed == [.firstResponse, .resolution])
  }

  @Test("a team has its own targets, which count after a transfer, from the same beginning")
  func teams() async throws {
    let place = try await Workplace()
    var change = Teams.Change()
    change.name = "Billing"
    change.firstResponseMinutes = .some(5)
    let team = Workplace.identifier()
    #expect(try await place.database.ask(Teams.add(team, change, by: place.actor)) == .done)
    let session = try await place.conversation(messages: ["hello"])
    #expect(try await compute(place) == [])
    try await place.set(queue: #"{"resolution_minutes":60}"#)
    #expect(try await compute(place) == [session])
    _ = try await place.database.run(
      Query(
        """
        UPDATE chat_sessions SET team_id = $3::uuid
        WHERE workspace_id = $1::uuid AND id = $2::uuid
        """, [.uuid(place.id), .uuid(session), .uuid(team)]))
    #expect(try await compute(place) == [session])
    let moved = try await row(session, in: place)
    #expect(
      moved.dueAt?.microseconds == (try #require(moved.waitingSince)).microseconds + 300_000_000)
    change.firstResponseMinutes = .some(0)
    change.resolutionMinutes = .some(0)
    #expect(try await place.database.ask(Teams.change(team, change, by: place.actor)) == .done)
    #expect(try await compute(place) == [session])
    #expect(try await row(session, in: place).dueAt == nil)
    #expect(
      try await place.database.ask(Targets.workspaces(after: .zero, limit: 100_000))
        .contains(place.id))
  }

  @Test("the list finds conversations whose target is due within a time, and so does a view")
  func filter() async throws {
    let place = try await Workplace()
    try await place.set(queue: #"{"first_response_minutes":30}"#)
    let soon = try await place.conversation(messages: ["hello"])
    let later = try await place.conversation(messages: ["hello"])
    #expect(try await compute(place) == [soon, later])
    try await run(
      """
      UPDATE chat_targets SET first_response_due_at = now() + interval '5 minutes'
      WHERE workspace_id = $1::uuid AND session_id = $2::uuid
      """, soon, in: place)
    try await run(
      """
      UPDATE chat_targets SET first_response_due_at = now() + interval '25 minutes'
      WHERE workspace_id = $1::uuid AND session_id = $2::uuid
      """, later, in: place)
    var list = ConversationList(limit: 10)
    for (status, minutes, found) in [
      ("open", 10, [soon]), ("waiting", 10, [soon]), ("waiting", 26, [soon, later]),
      ("open", 0, []), ("active", 26, []),
    ] as [(String, Int64, Set<Identifier>)] {
      list.status = status
      list.ofOpen.dueMinutes = minutes
      let page = try await place.database.ask(list.page(of: place.id))
      #expect(Set(page.map(\.id)) == found, "\(status) \(minutes)")
      #expect(try await place.database.ask(list.countMatches(in: place.id)) == Int64(found.count))
      let view = try await place.database.run(
        SharedItems.views.add(
          Workplace.identifier(), name: "\(status) \(minutes)", isShared: false,
          content: Array(#"{"status":"\#(status)","due_minutes":\#(minutes)}"#.utf8),
          by: SharedItems.Reader(actor: place.actor, isAdmin: false)))
      #expect(view.int(0, 7) == Int64(found.count), "\(status) \(minutes)")
    }
  }
}

import Directory
import DomainFixtures
import OpenSSL
import Postgres
import Primitives
import Testing

@Suite struct AssistUsageTests {
  private func reserve(
    _ tokens: Int64, perDay: Int64 = 1_000, perMonth: Int64 = 5_000, in place: Workplace
  ) async throws -> String? {
    try await place.database.ask(
      AssistUsage.reserve(tokens, perDay: perDay, perMonth: perMonth, in: place.id))
  }

  private func spent(in place: Workplace) async throws -> AssistUsage.Spent {
    try await place.database.ask(AssistUsage.spent(in: place.id))
  }

  @Test("a reservation counts until it is settled, to the limit of the day and not above it")
  func day() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    let day = try #require(try await reserve(900, in: place))
    #expect(try await reserve(101, in: place) == nil)
    #expect(try await reserve(100, in: place) == day)
    #expect(try await reserve(1, in: place) == nil)
    #expect(try await spent(in: place).today == 1_000)
    try await place.database.ask(
      AssistUsage.settle(reserved: 900, spent: 40, day: day, in: place.id))
    #expect(try await spent(in: place).today == 140)
    #expect(try await reserve(860, in: place) == day)
    #expect(try await spent(in: other).today == 0)
    #expect(try await reserve(1_001, in: other) == nil)
  }

  @Test("the month counts its other days, and no earlier month")
  func month() async throws {
    let place = try await Workplace()
    _ = try await place.database.run(
      Query(
        """
        INSERT INTO assist_usage (workspace_id, day, requests, tokens)
        SELECT $1::uuid, day, 1, 4600 FROM (
          SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date - 1 AS day
          UNION ALL SELECT (now() AT TIME ZONE 'UTC')::date - 1
          UNION ALL SELECT (now() AT TIME ZONE 'UTC')::date - 401
        ) AS days ON CONFLICT DO NOTHING
        """, [.uuid(place.id)]))
    // On the first day of a month yesterday is in the month before.
    let earlier = try await spent(in: place).month
    #expect(earlier == 4_600 || earlier == 0)
    let room = 5_000 - earlier
    #expect(try await reserve(room + 1, perDay: 9_000, in: place) == nil)
    #expect(try await reserve(room, perDay: 9_000, in: place) != nil)
    let spent = try await spent(in: place)
    #expect(spent.today == room && spent.month == 5_000)
    let rows = try await place.database.run(
      Query(
        """
        SELECT count(*) FROM assist_usage
        WHERE workspace_id = $1::uuid AND day < (now() AT TIME ZONE 'UTC')::date - 400
        """, [.uuid(place.id)]))
    #expect(rows.int(0, 0) == 0, "an old count was kept")
  }

  @Test("simultaneous reservations do not exceed the limit together")
  func together() async throws {
    let place = try await Workplace()
    let days = try await withThrowingTaskGroup(of: String?.self) { group in
      for _ in 0..<16 { group.addTask { try await reserve(300, in: place) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(days.count { $0 != nil } == 3)
    #expect(try await spent(in: place).today == 900)
  }

  @Test("more tokens than reserved are counted; a count never is below 0")
  func settled() async throws {
    let place = try await Workplace()
    let day = try #require(try await reserve(10, in: place))
    try await place.database.ask(
      AssistUsage.settle(reserved: 10, spent: 2_000, day: day, in: place.id))
    #expect(try await spent(in: place).today == 2_000)
    try await place.database.ask(
      AssistUsage.settle(reserved: 9_000, spent: 0, day: day, in: place.id))
    #expect(try await spent(in: place).today == 0)
  }

  @Test("settings come back as they were stored, and the audit log has no key")
  func settings() async throws {
    let place = try await Workplace()
    let box = SecretBox(configured: ["of a test"], signingKey: [])
    let endpoint = "https://api.example.com/v1"
    let where_ = AssistSettings.place(in: place.id, endpoint: endpoint)
    var settings = AssistSettings(
      workspace: place.id, isEnabled: true, uses: ["suggest", "translate"], endpoint: endpoint,
      model: "m", key: box.seal(Array("sk-SECRET".utf8), place: where_), tokenLimit: "max_tokens",
      tokensPerDay: 7, tokensPerMonth: 8, timeoutSeconds: 9,
      automatic: "replies", automaticNotice: "Automatic.")
    try await place.database.ask(settings.put(by: place.actor))
    let found = try #require(try await place.database.ask(AssistSettings.find(in: place.id)))
    #expect(found == settings)
    #expect(box.open(try #require(found.key), place: where_) == Array("sk-SECRET".utf8))
    let elsewhere = AssistSettings.place(in: place.id, endpoint: "https://evil.example.com/v1")
    #expect(box.open(try #require(found.key), place: elsewhere) == nil)
    settings.key = nil
    settings.uses = []
    try await place.database.ask(settings.put(by: place.actor))
    #expect(try await place.database.ask(AssistSettings.find(in: place.id)) == settings)
    #expect(try await place.database.ask(AssistSettings.delete(by: place.actor)))
    #expect(try await place.database.ask(AssistSettings.delete(by: place.actor)) == false)
    let rows = try await place.database.run(
      Query(
        """
        SELECT string_agg(action || details, ' ' ORDER BY id) FROM audit_log
        WHERE workspace_id = $1::uuid AND action LIKE 'assist.%'
        """, [.uuid(place.id)]))
    let log = rows.text(0, 0) ?? ""
    #expect(log.contains("assist.changed") && log.contains("assist.deleted"))
    #expect(log.contains("api.example.com") && !log.contains("SECRET"))
  }
}

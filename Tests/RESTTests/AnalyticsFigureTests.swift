import Directory
import DomainFixtures
import Foundation
import JSON
import Postgres
import Primitives
import Testing

@testable import REST

/// A conversation as its tables have it, without anything that was counted.
private struct Conversation {
  var day: String
  var keys: [Analytics.Grouping: [String]]
  var isClosed: Bool
  var messages: Int64
  /// The upper ends of the buckets of wait, first response and resolution, in milliseconds.
  var times: [Int64?]
  var rating: Int64?
}

/// All figures of a period count the same conversations: those that began in it. They equal what a
/// look at each conversation finds.
@Suite struct AnalyticsFigureTests {
  private func conversations(_ world: World) async throws -> [Conversation] {
    let rows = try await world.database.run(
      Query(
        """
        WITH facts AS (
          SELECT s.*, (SELECT min(c.created_at) FROM chats c
              WHERE c.session_id = s.id AND c.kind IN ('text', 'card')) AS began_at,
            (SELECT min(c.created_at) FROM chats c
              WHERE c.session_id = s.id AND c.payload ->> 'event' = 'claimed'
                AND s.claimed_at IS NOT NULL) AS taken_at
          FROM chat_sessions s WHERE s.workspace_id = $1::uuid
        ), timed AS (
          SELECT f.*, (extract(epoch FROM taken_at - began_at) * 1000)::bigint AS wait,
            (extract(epoch FROM first_response_at - began_at) * 1000)::bigint AS response,
            CASE WHEN status = 'closed'
              THEN (extract(epoch FROM closed_at - began_at) * 1000)::bigint END AS resolution
          FROM facts f WHERE began_at IS NOT NULL
        )
        SELECT (began_at AT TIME ZONE 'Asia/Bangkok')::date::text, assigned_operator_id::text,
          team_id::text,
          (SELECT string_agg(t.tag, ',') FROM session_tags t WHERE t.session_id = f.id),
          status = 'closed', message_count, chirrup_bucket_end(chirrup_bucket(wait)),
          chirrup_bucket_end(chirrup_bucket(response)),
          chirrup_bucket_end(chirrup_bucket(resolution)),
          (SELECT r.rating FROM csat_responses r WHERE r.session_id = f.id), channel
        FROM timed f
        """, [.uuid(world.workspace.id)]))
    return (0..<rows.count).map { row in
      func list(_ column: Int) -> [String] {
        rows.text(row, column)?.split(separator: ",").map { String($0) } ?? []
      }
      return Conversation(
        day: rows.text(row, 0) ?? "",
        keys: [
          .operators: list(1), .teams: list(2), .channels: list(10), .tags: list(3),
        ],
        isClosed: rows.bool(row, 4) == true, messages: rows.int(row, 5) ?? 0,
        times: (6...8).map { rows.int(row, $0) }, rating: rows.int(row, 9))
    }
  }

  private func figures(_ conversations: [Conversation]) -> Analytics.Figures {
    var figures = Analytics.Figures()
    figures.sessions = Int64(conversations.count)
    figures.closed = Int64(conversations.count { $0.isClosed })
    figures.messages = conversations.reduce(0) { $0 + $1.messages }
    for rating in conversations.compactMap(\.rating) { figures.stars[Int(rating) - 1] += 1 }
    let times = (0..<3).map { at in conversations.compactMap { $0.times[at] }.sorted() }
    (figures.claimed, figures.answered) = (Int64(times[0].count), Int64(times[1].count))
    figures.times = times.flatMap { sorted in
      [0.5, 0.9].map { part in
        sorted.isEmpty ? nil : sorted[Int((part * Double(sorted.count)).rounded(.up)) - 1]
      }
    }
    return figures
  }

  private func expectSame(
    _ world: World, _ all: [Conversation], from: String, to: String, before: String
  ) async throws {
    for grouping in Analytics.Grouping.allCases {
      let groups = try await world.database.ask(
        Analytics.groups(grouping, of: world.workspace.id, from: from, to: to, limit: 99))
      let now = all.filter { (from...to).contains($0.day) }
      let earlier = all.filter { (before..<from).contains($0.day) }
      let keys = Set(now.flatMap { $0.keys[grouping] ?? [] })
      let comment: Comment = "\(grouping) \(from) \(to)"
      #expect(Set(groups.map(\.key)) == keys, comment)
      for group in groups {
        func has(_ one: Conversation) -> Bool { one.keys[grouping]?.contains(group.key) == true }
        #expect(group.figures == figures(now.filter(has)), comment)
        #expect(group.previous == figures(earlier.filter(has)), comment)
        let scope = try #require(scopeOf(grouping, group.key))
        try await expectSame(world, scope, now.filter(has), earlier.filter(has), from, to)
      }
    }
    let (now, earlier) = (
      all.filter { (from...to).contains($0.day) }, all.filter { (before..<from).contains($0.day) }
    )
    try await expectSame(world, .all, now, earlier, from, to)
  }

  private func scopeOf(_ grouping: Analytics.Grouping, _ key: String) -> Analytics.Scope? {
    switch grouping {
    case .operators: Identifier(key).map { .ofOperator($0) }
    case .teams: Identifier(key).map { .ofTeam($0) }
    case .channels: .onChannel(key)
    case .tags: .withTag(key)
    }
  }

  /// A report that is limited to some conversations has the figures of these.
  private func expectSame(
    _ world: World, _ scope: Analytics.Scope, _ now: [Conversation], _ earlier: [Conversation],
    _ from: String, _ to: String
  ) async throws {
    let comment: Comment = "\(scope) \(from) \(to)"
    let total = try await world.database.ask(
      Analytics.total(of: scope, in: world.workspace.id, from: from, to: to))
    #expect(total.now == figures(now) && total.before == figures(earlier), comment)
    let hours = try await world.database.ask(
      Analytics.hours(of: scope, in: world.workspace.id, from: from, to: to))
    #expect(hours.flatMap { $0 }.reduce(0, +) == Int64(now.count), comment)
    let days = try await world.database.ask(
      Analytics.days(of: scope, in: world.workspace.id, from: from, to: to))
    #expect(days.map(\.day) == days.map(\.day).sorted() && days.last?.day == to)
    let expected = days.map { day in figures(now.filter { $0.day == day.day }) }
    #expect(days.map(\.figures) == expected, comment)
  }

  @Test("all figures of a period count the conversations that began in it, whatever happened since")
  func same() async throws {
    var play = try await Play()
    let world = play.world
    _ = try await world.database.ask(
      WorkspaceSettings.store(
        .hours, .object(["time_zone": .string("Asia/Bangkok")]), workspace: world.workspace.id))
    for _ in 1...16 {
      try await play.begin(secondsAgo: Int64.random(in: 0...500_000))
      for _ in 1...8 { try await play.step() }
    }
    _ = try await world.database.run(
      Query(
        """
        WITH other AS (
          UPDATE chat_sessions SET channel = 'line' WHERE workspace_id = $1::uuid
            AND id IN (SELECT id FROM chat_sessions WHERE workspace_id = $1::uuid LIMIT 5)
          RETURNING id
        )
        INSERT INTO chat_analytics_pending (workspace_id, session_id) SELECT $1::uuid, id FROM other
        """, [.uuid(world.workspace.id)]))
    let today = try await world.database.run(
      Query("SELECT (now() AT TIME ZONE 'Asia/Bangkok')::date::text"))
    for round in 1...3 {
      for _ in 1...12 { try await play.step() }
      try await play.countAll()
      let all = try await conversations(world)
      #expect(all.count == 16 && all.contains { !$0.isClosed && $0.messages > 0 })
      for days in [1, 3, 30] {
        let ends = try await world.database.run(
          Query(
            """
            SELECT ($1::text::date - $2::bigint::integer + 1)::text,
              ($1::text::date - 2 * $2::bigint::integer + 1)::text
            """, [.text(today.text(0, 0)), .int(Int64(days))]))
        try await expectSame(
          world, all, from: ends.text(0, 0) ?? "", to: today.text(0, 0) ?? "",
          before: ends.text(0, 1) ?? "")
      }
      // A recomputation changes nothing.
      if round == 3 {
        #expect(all.contains { $0.keys[.teams] != [] } && all.contains { $0.keys[.tags] != [] })
        #expect(Set(all.flatMap { $0.keys[.channels] ?? [] }) == ["web", "line"])
        #expect(try await world.database.ask(Analytics.recompute(world.workspace.id)) == 16)
        try await expectSame(
          world, all, from: "2000-01-01", to: "2100-01-01", before: "1900-01-01")
      }
    }
  }
}

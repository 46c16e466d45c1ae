import DomainFixtures
import Foundation
import JSON
import Postgres
import Primitives
import Testing

@testable import Directory

@Suite struct WorkspaceSettingsTests {
  @Test("a workspace without settings has the defaults, and the appearance of its row")
  func defaults() async throws {
    let place = try await Workplace()
    let plain = try await place.database.ask(WorkspaceSettings.load(place.id))
    #expect(plain == WorkspaceSettings())
    #expect(plain.queue.capacity == 5)
    #expect(plain.rating.isEnabled)
    _ = try await place.database.run(
      Query(
        "UPDATE workspaces SET settings = $1::jsonb WHERE id = $2::uuid",
        [
          .json(Array(#"{"name":"Shop","locale":"th","greeting":{"title":"Hi"},"x":1}"#.utf8)),
          .uuid(place.id),
        ]))
    let old = try await place.database.ask(WorkspaceSettings.load(place.id))
    #expect(old.widget.name == "Shop")
    #expect(old.widget.locale == "th")
    #expect(old.widget.greeting == WorkspaceSettings.Greeting(title: "Hi", text: ""))
    // A setting of its own counts whole.
    try await place.set("widget", #"{"theme":"dark"}"#)
    let new = try await place.database.ask(WorkspaceSettings.load(place.id))
    #expect(new.widget.theme == "dark")
    #expect(new.widget.name == nil)
  }

  @Test(
    "settings of an adopted table are read, with defaults for invalid values",
    arguments: [
      nil, "", "x", "[]", "1", "null", "{", #"{"capacity":"many"}"#, #"{"capacity":0}"#,
      #"{"capacity":1e99}"#, #"{"capacity":99999999999999999999}"#, #"{"assign":"all"}"#,
      #"{"a":"\ud800"}"#, String(repeating: "[", count: 10_000),
    ])
  func adopted(value: String?) async throws {
    let place = try await Workplace()
    for key in WorkspaceSettings.Key.allCases { try await place.set(key.rawValue, value) }
    let read = try await place.database.ask(WorkspaceSettings.load(place.id))
    #expect(read == WorkspaceSettings())
  }

  @Test("an invalid member does not invalidate the others")
  func partly() throws {
    var settings = WorkspaceSettings()
    let value = try #require(
      JSONValue(##"{"accent":"red","locale":"de","position":"left","sound":"no","greeting":[]}"##))
    #expect(settings.read(.widget, value) != nil)
    #expect(settings.widget.accent == nil)
    #expect(settings.widget.locale == "de")
    #expect(settings.widget.position == "left")
    #expect(settings.widget.sound)
    #expect(settings.widget.greeting == nil)
  }

  @Test(
    "an invalid setting is refused with its reason",
    arguments: [
      (.widget, #"{"theme":"pink"}"#, "theme"), (.widget, #"{"colour":1}"#, "colour"),
      (.widget, "[]", "object"), (.widget, #"{"greeting":{"text":1}}"#, "greeting.text"),
      (.hours, #"{"days":[{"day":8,"from":"09:00","to":"17:00"}]}"#, "days[0].day"),
      (.hours, #"{"days":[{"day":1,"from":"9:00","to":"17:00"}]}"#, "days[0]"),
      (.hours, #"{"days":[{"day":1,"from":"09:00","to":"25:00"}]}"#, "days[0]"),
      (.hours, #"{"days":[{"day":1,"from":"09:00","to":"09:00"}]}"#, "days[0]"),
      (.hours, #"{"holidays":["2026-02-29"]}"#, "holidays[0]"),
      (.hours, #"{"time_zone":"Europe/Berlin'; --"}"#, "time_zone"),
      (.prechat, #"{"fields":[{"key":"name"}]}"#, "fields[0]"),
      (.prechat, #"{"fields":[{"key":"a","label":"b","type":"file"}]}"#, "fields[0].type"),
      (.queue, #"{"capacity":1.5}"#, "capacity"), (.rating, #"{"enabled":1}"#, "enabled"),
      (.awayMessage, #"{"text":true}"#, "text"),
    ] as [(WorkspaceSettings.Key, String, String)])
  func refused(key: WorkspaceSettings.Key, json: String, named: String) throws {
    let fault = WorkspaceSettings.check(key, try #require(JSONValue(json)))
    #expect(fault?.contains(named) == true, "\(fault ?? "nothing")")
  }

  @Test("the returned settings can be written again unchanged")
  func roundTrip() throws {
    let full: [(WorkspaceSettings.Key, String)] = [
      (
        .widget,
        ##"{"name":"S","accent":"#aB01ff","locale":"pt-BR","theme":"dark","position":"left","##
          + #""greeting":{"title":"t","text":"x"},"preview":false,"sound":false,"teaser":false}"#
      ),
      (
        .hours,
        #"{"always":false,"time_zone":"Asia/Bangkok","#
          + #""days":[{"day":7,"from":"22:30","to":"24:00"}],"holidays":["2028-02-29"]}"#
      ),
      (
        .prechat,
        #"{"enabled":true,"fields":[{"key":"topic","label":"Topic","type":"select","#
          + #""required":true,"options":["a","b"]}]}"#
      ),
      (.greetingMessage, #"{"enabled":true,"text":"สวัสดี \"x\""}"#),
      (
        .queue,
        #"{"capacity":2,"assign":"least_busy","reassign_after_seconds":5,"show_position":false}"#
      ),
      (.rating, #"{"enabled":false,"question":"How was it?"}"#),
    ]
    for (key, json) in full {
      var settings = WorkspaceSettings()
      let value = try #require(JSONValue(json))
      #expect(settings.read(key, value) == nil)
      #expect(settings.value(key) == value)
    }
    for key in WorkspaceSettings.Key.allCases {
      let shown = WorkspaceSettings().value(key)
      #expect(WorkspaceSettings.check(key, shown) == nil)
      #expect(JSONValue(shown.text) == shown)
    }
  }

  @Test("settings are cached for a moment, in a bounded cache")
  func cache() async throws {
    let place = try await Workplace()
    let settings = CachedSettings(place.database)
    func capacity(_ seconds: Int64) async throws -> Int {
      try await settings.of(place.id, now: Workplace.after(seconds)).settings.queue.capacity
    }
    #expect(try await capacity(0) == 5)
    try await place.set("queue", #"{"capacity":9}"#)
    #expect(try await capacity(1) == 5)
    #expect(try await capacity(2) == 9)
    try await place.set("queue", #"{"capacity":3}"#)
    settings.forget(place.id)
    #expect(try await capacity(2) == 3)
    #expect(try await capacity(-5) == 3, "a clock set back causes another read of the settings")

    var cache = SettingsCache()
    let entry = SettingsCache.Entry(
      settings: WorkspaceSettings(), schedule: Schedule(isAlwaysOpen: true))
    for number in 0..<3 * SettingsCache.entriesMax {
      cache.keep(entry, of: Identifier(high: 0, low: UInt64(number)), now: Workplace.now, asOf: 0)
    }
    #expect(cache.count <= SettingsCache.entriesMax)
    // A read during a change may return the old value.
    let (workspace, before) = (Workplace.identifier(), cache.changes)
    cache.forget(workspace)
    cache.keep(entry, of: workspace, now: Workplace.now, asOf: before)
    #expect(cache.find(workspace, now: Workplace.now) == nil)
  }
}

@Suite struct ScheduleTests {
  private func schedule(_ json: String, at now: WallTime) async throws -> Schedule {
    let place = try await Workplace()
    var settings = WorkspaceSettings()
    settings.read(.hours, try #require(JSONValue(json)))
    return try await place.database.ask(Schedule.statement(settings.hours, at: now))
  }

  private func time(_ text: String) throws -> WallTime {
    let date = try #require(ISO8601DateFormatter().date(from: text))
    return WallTime(microseconds: Int64(date.timeIntervalSince1970) * 1_000_000)
  }

  @Test(
    "hours are those of the workspace's time zone, over a change of the clock too",
    arguments: [
      // Friday 2026-03-27; Berlin changes its clock on Sunday the 29th.
      ("2026-03-27T07:59:59Z", false, "2026-03-27T08:00:00.000Z"),
      ("2026-03-27T08:00:00Z", true, nil), ("2026-03-27T15:59:59Z", true, nil),
      ("2026-03-27T16:00:00Z", false, "2026-03-30T07:00:00.000Z"),
      ("2026-03-30T07:00:00Z", true, nil),
      // A holiday.
      ("2026-12-25T10:00:00Z", false, "2026-12-28T08:00:00.000Z"),
    ] as [(String, Bool, String?)])
  func zone(now: String, isOpen: Bool, opensAt: String?) async throws {
    let days = (1...5).map { #"{"day":\#($0),"from":"09:00","to":"17:00"}"# }
    let now = try time(now)
    let schedule = try await schedule(
      #"{"always":false,"time_zone":"Europe/Berlin","days":[\#(days.joined(separator: ","))],"#
        + #""holidays":["2026-12-25"]}"#, at: now)
    #expect(schedule.isOpen(at: now) == isOpen)
    #expect(schedule.opensAt(from: now)?.description == opensAt)
  }

  @Test("a night shift ends on the next day")
  func night() async throws {
    let json = #"{"always":false,"days":[{"day":5,"from":"22:00","to":"02:00"}]}"#
    let late = try time("2026-03-28T01:59:59Z")
    let schedule = try await schedule(json, at: late)
    #expect(schedule.isOpen(at: late))
    #expect(!schedule.isOpen(at: try time("2026-03-28T02:00:00Z")))
    #expect(
      schedule.opensAt(from: try time("2026-03-28T02:00:00Z"))?.description
        == "2026-04-03T22:00:00.000Z")
  }

  @Test("hours without a day are always closed, and an unknown time zone is UTC")
  func unknown() async throws {
    let place = try await Workplace()
    let settings = CachedSettings(place.database)
    for (hours, isOpen) in [
      (#"{"always":false,"time_zone":"Mars/Olympus"}"#, false),
      (
        #"{"always":false,"time_zone":"Mars/Olympus","#
          + #""days":[{"day":3,"from":"00:00","to":"24:00"}]}"#,
        true
      ),
    ] {
      _ = try await place.database.ask(
        WorkspaceSettings.store(
          .hours, try #require(JSONValue(hours)), workspace: place.id))
      settings.forget(place.id)
      // 2026-11-18 is a Wednesday.
      let entry = try await settings.of(place.id, now: Workplace.now)
      #expect(entry.schedule.isOpen(at: Workplace.now) == isOpen)
    }
  }
}

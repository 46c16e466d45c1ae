import DomainFixtures
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
    try place.database.asOwner(
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
      (.queue, #"{"capacity":1.5}"#, "capacity"),
      (.queue, #"{"close_after_minutes":10081}"#, "close_after_minutes"),
      (.rating, #"{"enabled":1}"#, "enabled"),
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
        #"{"capacity":2,"assign":"least_busy","reassign_after_seconds":5,"#
          + #""close_after_minutes":0,"show_position":false,"#
          + #""first_response_minutes":15,"resolution_minutes":480}"#
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
      settings: WorkspaceSettings(), businessHours: BusinessHours(isAlwaysOpen: true))
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

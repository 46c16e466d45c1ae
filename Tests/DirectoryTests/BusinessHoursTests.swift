import DomainFixtures
import Foundation
import JSON
import Primitives
import Testing

@testable import Directory

@Suite struct BusinessHoursTests {
  private func businessHours(_ json: String, at now: WallTime) async throws -> BusinessHours {
    let place = try await Workplace()
    var settings = WorkspaceSettings()
    settings.read(.hours, try #require(JSONValue(json)))
    return try await place.database.ask(BusinessHours.statement(settings.hours, at: now))
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
    let businessHours = try await businessHours(
      #"{"always":false,"time_zone":"Europe/Berlin","days":[\#(days.joined(separator: ","))],"#
        + #""holidays":["2026-12-25"]}"#, at: now)
    #expect(businessHours.isOpen(at: now) == isOpen)
    #expect(businessHours.opensAt(from: now)?.description == opensAt)
  }

  @Test("a night shift ends on the next day")
  func night() async throws {
    let json = #"{"always":false,"days":[{"day":5,"from":"22:00","to":"02:00"}]}"#
    let late = try time("2026-03-28T01:59:59Z")
    let businessHours = try await businessHours(json, at: late)
    #expect(businessHours.isOpen(at: late))
    #expect(!businessHours.isOpen(at: try time("2026-03-28T02:00:00Z")))
    #expect(
      businessHours.opensAt(from: try time("2026-03-28T02:00:00Z"))?.description
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
      #expect(entry.businessHours.isOpen(at: Workplace.now) == isOpen)
    }
  }
}

import Directory
import Primitives
import Testing

@testable import REST

@Suite("Visitors of this moment") struct WatchTableTests {
  let workspace = Identifier(high: 1, low: 1)
  let start = WallTime(microseconds: 1_000_000_000)

  func key(_ number: UInt64, of workspace: Identifier? = nil) -> WatchTable.Key {
    WatchTable.Key(
      workspace: workspace ?? self.workspace, watcher: Identifier(high: 2, low: number))
  }

  func beacon(
    _ number: UInt64, tab: String = "a", _ state: WatchTable.TabState = .here, visit: String? = nil,
    of workspace: Identifier? = nil
  ) -> WatchTable.Beacon {
    WatchTable.Beacon(
      key: key(number, of: workspace), secretHash: [1], tab: tab, state: state,
      visit: visit.map { Array($0.utf8) })
  }

  func later(_ seconds: Int64) -> WallTime { start.advanced(bySeconds: seconds) }

  /// The states of the changes: nil has left.
  func states(_ table: inout WatchTable) -> [String?] {
    table.takeChanges(limit: 1_000).map(\.state)
  }

  @Test("a heartbeat stores nothing; a navigation stores the visit once")
  func changes() throws {
    var table = WatchTable()
    #expect(table.note(beacon(1), now: start)?.needsVisit == true)
    #expect(states(&table) == [])
    #expect(table.note(beacon(1, visit: "{}"), now: start)?.needsVisit == false)
    #expect(states(&table) == ["here"])
    _ = table.note(beacon(1), now: later(10))
    #expect(states(&table) == [])
    _ = table.note(beacon(1, visit: "{}"), now: later(11))
    #expect(states(&table) == ["here"])
  }

  @Test("two tabs are one visitor, who is away when both are hidden and gone when both are closed")
  func tabs() throws {
    var table = WatchTable()
    _ = table.note(beacon(1, tab: "a", visit: "{}"), now: start)
    _ = table.note(beacon(1, tab: "b", visit: "{}"), now: start)
    #expect(table.count == 1)
    #expect(states(&table) == ["here"])
    _ = table.note(beacon(1, tab: "a", .away), now: later(1))
    #expect(states(&table) == [])
    _ = table.note(beacon(1, tab: "b", .away), now: later(2))
    #expect(states(&table) == ["away"])
    _ = table.note(beacon(1, tab: "b", .gone), now: later(3))
    table.sweep(now: later(60))
    #expect(table.count == 1)
    _ = table.note(beacon(1, tab: "a", .gone), now: later(61))
    table.sweep(now: later(62))
    #expect(table.count == 1)
    table.sweep(now: later(66))
    #expect(table.count == 0 && table.count(of: workspace) == 0)
    #expect(states(&table) == [nil])
  }

  @Test("the next page of the same tab keeps the visitor")
  func nextPage() throws {
    var table = WatchTable()
    _ = table.note(beacon(1, visit: "{}"), now: start)
    _ = table.note(beacon(1, .gone), now: later(1))
    _ = table.note(beacon(1, visit: "{}"), now: later(3))
    table.sweep(now: later(20))
    #expect(table.count == 1)
    #expect(states(&table) == ["here"])
  }

  @Test("a visitor leaves after three missed heartbeats, a hidden one after ten minutes")
  func silence() throws {
    var table = WatchTable()
    _ = table.note(beacon(1, visit: "{}"), now: start)
    _ = table.note(beacon(2, .away, visit: "{}"), now: start)
    table.sweep(now: later(40))
    #expect(table.count == 2)
    table.sweep(now: later(41))
    #expect(table.count == 1)
    table.sweep(now: later(600))
    #expect(table.count == 1)
    table.sweep(now: later(601))
    #expect(table.count == 0)
  }

  @Test("a browser may send a burst, then one beacon a second")
  func quota() throws {
    var table = WatchTable()
    for _ in 0..<20 { #expect(table.note(beacon(1), now: start) != nil) }
    #expect(table.note(beacon(1), now: start) == nil)
    #expect(table.note(beacon(2), now: start) != nil)
    #expect(table.note(beacon(1), now: later(1)) != nil)
    #expect(table.note(beacon(1), now: later(1)) == nil)
  }

  @Test("a full workspace and a full gateway lose the oldest visitors, not the newest")
  func full() throws {
    var table = WatchTable(WatchTable.Limits(visitorsMax: 40, ofWorkspaceMax: 32))
    for number in 1...33 { _ = table.note(beacon(UInt64(number)), now: later(Int64(number))) }
    #expect(table.count == 31)
    _ = table.note(beacon(33), now: later(34))
    #expect(table.count == 31)
    let other = Identifier(high: 9, low: 9)
    for number in 1...20 {
      _ = table.note(beacon(UInt64(number), of: other), now: later(100 + Int64(number)))
    }
    #expect(table.count <= 40)
    #expect(table.count(of: other) == 20)
    #expect(table.count(of: workspace) + 20 == table.count)
  }

  @Test("the heartbeat grows with the number of visitors")
  func heartbeat() throws {
    var table = WatchTable()
    #expect(table.note(beacon(1), now: start)?.heartbeatSeconds == 10)
    let many = UInt64(30 * WatchTable.beaconsPerSecond)
    for number in 2...many { _ = table.note(beacon(number), now: start) }
    #expect(table.heartbeatSeconds == 30)
  }

  @Test("while PostgreSQL is away, visits wait up to a bound; further ones are asked for again")
  func pending() throws {
    var table = WatchTable(WatchTable.Limits(pendingBytesMax: 10))
    #expect(table.note(beacon(1, visit: "{\"a\":1}"), now: start)?.needsVisit == false)
    #expect(table.note(beacon(2, visit: "{\"a\":1}"), now: start)?.needsVisit == true)
    let changes = table.takeChanges(limit: 10)
    #expect(changes.count == 1)
    table.giveBack(changes)
    #expect(table.note(beacon(2, visit: "{\"a\":1}"), now: start)?.needsVisit == true)
    #expect(states(&table) == ["here"])
    #expect(table.note(beacon(2, visit: "{\"a\":1}"), now: start)?.needsVisit == false)
  }

  @Test("a hundred thousand made-up browsers of one site fill its part of the table and no more")
  func flood() throws {
    var table = WatchTable()
    let limits = WatchTable.Limits()
    let visit = String(repeating: "x", count: 1_000)
    for number in 1...100_000 {
      _ = table.note(beacon(UInt64(number), visit: visit), now: later(Int64(number / 1_000)))
    }
    #expect(table.count <= limits.ofWorkspaceMax && table.count >= limits.fullWorkspace)
    #expect(table.heartbeatSeconds <= WatchTable.heartbeatMax)
    let other = Identifier(high: 9, low: 9)
    #expect(table.note(beacon(1, visit: "{}", of: other), now: later(100)) != nil)
    #expect(table.count(of: other) == 1)
    // No visit of a browser that has left waits any more.
    var stored = 0
    while case let changes = table.takeChanges(limit: 2_000), !changes.isEmpty {
      stored += changes.count
    }
    #expect(stored == table.count)
  }

  @Test("a browser with many tabs keeps the newest of them")
  func manyTabs() throws {
    var table = WatchTable(WatchTable.Limits(burst: 1_000))
    for tab in 0..<100 { _ = table.note(beacon(1, tab: "\(tab)", visit: "{}"), now: start) }
    for tab in 92..<100 { _ = table.note(beacon(1, tab: "\(tab)", .gone), now: start) }
    table.sweep(now: later(5))
    #expect(table.count == 0)
  }

  @Test("removals wait for PostgreSQL up to a bound; then all rows of the gateway are removed")
  func departed() throws {
    var table = WatchTable(WatchTable.Limits(departedMax: 3))
    for number in 1...5 { _ = table.note(beacon(UInt64(number), visit: "{}"), now: start) }
    _ = table.takeChanges(limit: 10)
    for number in 1...3 { _ = table.note(beacon(UInt64(number), .gone), now: start) }
    table.sweep(now: later(5))
    #expect(!table.mustRemoveAll)
    _ = table.note(beacon(4, .gone), now: later(5))
    table.sweep(now: later(10))
    #expect(table.mustRemoveAll && table.storedCount == 1)
    table.forgetStored()
    #expect(!table.mustRemoveAll && states(&table) == [])
    #expect(table.note(beacon(5), now: later(11))?.needsVisit == true)
  }

  @Test("a browser that comes back before its row is removed keeps it, and takes it along at last")
  func comesBack() throws {
    var table = WatchTable()
    _ = table.note(beacon(1, visit: "{}"), now: start)
    #expect(states(&table) == ["here"])
    _ = table.note(beacon(1, .gone), now: later(1))
    table.sweep(now: later(6))
    #expect(table.count == 0)
    #expect(table.note(beacon(1), now: later(7))?.needsVisit == true)
    _ = table.note(beacon(1, .gone), now: later(8))
    table.sweep(now: later(13))
    #expect(states(&table) == [nil])
    // The removal fails, and the browser is back meanwhile.
    let lost = [
      WatchedVisitor.Change(
        workspace: workspace, watcher: key(1).watcher, secretHash: [], state: nil, visit: nil)
    ]
    _ = table.note(beacon(1), now: later(14))
    table.giveBack(lost)
    #expect(table.storedCount == 1 && states(&table) == ["here"])
  }

  @Test("after a crash of PostgreSQL the visits are asked for again")
  func forgotten() throws {
    var table = WatchTable()
    _ = table.note(beacon(1, visit: "{}"), now: start)
    #expect(states(&table) == ["here"] && table.storedCount == 1)
    table.forgetStored()
    #expect(table.note(beacon(1), now: later(1))?.needsVisit == true)
    _ = table.note(beacon(1, visit: "{}"), now: later(2))
    #expect(states(&table) == ["here"])
  }

  @Test("an address has a path without its query, and a host only if it is of the web")
  func addresses() {
    #expect(BeaconVisit.path("https://shop.example/a/b?token=1#/c") == "/a/b")
    #expect(BeaconVisit.path("https://shop.example") == "/")
    #expect(BeaconVisit.path("https://shop.example#/cart") == "/#/cart")
    #expect(BeaconVisit.path("javascript:alert(1)") == "javascript:alert(1)")
    #expect(BeaconVisit.host("HTTPS://user:secret@Search.example:84/q?x") == "search.example:84")
    #expect(BeaconVisit.host("javascript://search.example/") == "")
    #expect(BeaconVisit.host("data:text/html,<b>") == "" && BeaconVisit.host("") == "")
  }

  @Test("the region of a language, if there is one")
  func region() {
    #expect(BeaconVisit.region("de-CH, en;q=0.5") == "CH")
    #expect(BeaconVisit.region("en,de-at;q=0.8") == "AT")
    #expect(BeaconVisit.region("zh-Hans-CN") == "CN")
    #expect(BeaconVisit.region("en") == nil)
    #expect(BeaconVisit.region("-,;;,--,*") == nil)
  }
}

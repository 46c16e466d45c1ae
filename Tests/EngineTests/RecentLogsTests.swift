import Chat
import Primitives
import Testing

@testable import Engine

/// The memory of recent entries.
@Suite("Recent entries")
struct RecentLogsTests {
  private static let budget = 200_000

  private func bodies(_ client: Client) -> [String] {
    client.texts().filter { field("type", of: $0) == "message" }.map { field("body", of: $0) }
  }

  @Test("the recent entries of all sessions stay within the limit, and subscribers miss nothing")
  func budget() {
    let world = World(recentBytesMax: RecentLogsTests.budget)
    let sessions = (0..<30).map { _ in world.makeSession() }
    let desk = world.member("operator")
    for session in sessions {
      desk.send(#"{"type":"subscribe","ref":"s","session":"\#(session)"}"#)
    }
    world.settle()
    _ = desk.texts()
    let text = String(repeating: "x", count: 1_000)
    var largest = 0
    for round in 0..<20 {
      for (index, session) in sessions.enumerated() {
        desk.post("\(round) \(index) \(text)", to: session)
        // Within `Limits.inFlight`.
        if index % 10 == 9 { world.commit() }
      }
      world.settle()
      world.advance(milliseconds: 2_000)
      #expect(world.loops[0].engine.inconsistency() == nil)
      #expect(world.loops[0].engine.sessions.recentByteCount <= RecentLogsTests.budget)
      largest = max(largest, world.loops[0].engine.sessions.recentByteCount)
      #expect(bodies(desk).count == sessions.count)
    }
    // The limit was nearly reached, and entries were dropped.
    #expect(largest > RecentLogsTests.budget / 2)
    #expect(world.loops[0].engine.counters.recentDrops > 20)
    // A new subscriber receives everything, partly from the database.
    let before = world.entriesRead
    for (index, session) in sessions.enumerated() {
      let late = world.member("operator", session, after: 0)
      #expect(bodies(late) == (0..<20).map { "\($0) \(index) \(text)" })
    }
    #expect(world.entriesRead > before)
    #expect(world.loops[0].engine.inconsistency() == nil)
  }

  @Test("busy sessions keep their entries, quiet ones lose theirs")
  func quietFirst() {
    let world = World(recentBytesMax: RecentLogsTests.budget)
    let (busy, quiet) = (world.makeSession(), world.makeSession())
    let others = (0..<80).map { _ in world.makeSession() }
    let desk = world.member("operator")
    for session in [busy, quiet] + others {
      desk.send(#"{"type":"subscribe","ref":"s","session":"\#(session)"}"#)
    }
    desk.post("once", to: quiet)
    let text = String(repeating: "x", count: 4_000)
    for session in others {
      desk.post("again", to: busy)
      desk.post(text, to: session)
      world.commit()
      world.settle()
      world.advance(milliseconds: 2_000)
    }
    let engine = world.loops[0]
    #expect(engine.engine.counters.recentDrops > 10)
    #expect(isKept(busy, engine))
    #expect(!isKept(quiet, engine))
    #expect(engine.engine.inconsistency() == nil)
  }

  private func isKept(_ session: Identifier, _ loop: World.Loop) -> Bool {
    guard let index = loop.engine.sessions.index(of: session) else { return false }
    return !loop.engine.sessions[index].log.isEmpty
  }
}

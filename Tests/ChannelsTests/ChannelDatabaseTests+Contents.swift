import Chat
import Conversations
import Directory
import DomainFixtures
import Kernel
import Postgres
import Primitives
import Synchronization
import Testing

@testable import Channels

/// Contents of messages in the database: who waits for them, what is taken, what becomes of them.
extension ChannelDatabaseTests {
  func picture(_ id: String, user: String = "U1") -> ReceivedEvent {
    let payload = """
      {"type":"message","message":{"type":"image","id":"\(id)",
      "contentProvider":{"type":"line"}},"timestamp":7,
      "source":{"type":"user","userId":"\(user)"},"webhookEventId":"\(id)"}
      """
    return ReceivedEvent(id: id, address: user, payload: Array(payload.utf8))
  }

  func takeContents(room: Int = 100) async throws -> [ChannelContents.Taken] {
    let lease = Identifier.random()
    let rows = try await place.database.run(
      ChannelContents.take(room: room, lease: lease, milliseconds: 60_000))
    return ChannelContents.taken(rows, lease: lease)
      .filter { $0.person.workspace == place.id }.sorted { $0.event < $1.event }
  }

  func end(_ taken: ChannelContents.Taken, _ result: ChannelContents.Result) async throws {
    _ = try await place.database.run(ChannelContents.finish(taken, result))
    await inbox.process(in: place.id, now: Workplace.now)
  }

  func appended() -> [String] {
    sessions.appended.withLock { $0.map { String(decoding: $0.body, as: UTF8.self) } }
  }

  @Test func laterMessagesOfThePersonWait() async throws {
    _ = try await receive(event("a", "one"), picture("b"), event("c", "three"), picture("d"))
    _ = try await receive(event("x", "other", user: "U2"))
    #expect(appended().sorted() == ["one", "other"])
    let taken = try await takeContents()
    #expect(taken.map(\.event) == ["b", "d"])
    #expect(try await takeContents().isEmpty)
    // The second one is first, and waits for its turn.
    try await end(taken[1], .omitted(name: "image.jpg"))
    #expect(appended().count == 2)
    try await end(taken[0], .missing(reason: "gone"))
    #expect(
      appended().filter { $0 != "other" } == [
        "one", "[image]", "three", "[1 file was left out: image.jpg]",
      ])
    let payloads = sessions.appended.withLock { all in
      all.map { String(decoding: $0.payload, as: UTF8.self) }.filter { $0.contains("missing") }
    }
    #expect(payloads.count == 1 && payloads[0].contains(#""missing":"gone""#))
    #expect(
      try await number("SELECT count(*) FROM channel_contents WHERE workspace_id = $1::uuid") == 0)
  }

  @Test func ofAPersonTheOldestAreTaken() async throws {
    _ = try await receive(
      picture("a"), picture("b"), picture("c"), picture("d"), picture("e"),
      picture("x", user: "U2"))
    let taken = try await takeContents()
    #expect(taken.map(\.event) == ["a", "b", "c", "d", "x"])
    // What is fetched, but not in the log, still counts: it is a file in no message.
    _ = try await place.database.run(
      ChannelContents.finish(taken[1], .missing(reason: "")))
    #expect(try await takeContents().isEmpty)
    try await end(taken[0], .missing(reason: ""))
    #expect(try await takeContents().map(\.event) == ["e"])
  }

  @Test func anotherNodesResultDoesNotCount() async throws {
    _ = try await receive(picture("a"))
    var taken = try await takeContents()
    let lease = taken[0].lease
    taken[0].lease = .random()
    try await end(taken[0], .missing(reason: "no"))
    #expect(appended().isEmpty)
    taken[0].lease = lease
    _ = try await place.database.run(
      ChannelContents.postpone(taken[0], reason: "x", milliseconds: 0))
    let again = try await takeContents()
    #expect(again.map(\.attempt) == [2])
    try await end(taken[0], .missing(reason: "no"))
    #expect(appended().isEmpty)
    try await end(again[0], .missing(reason: "yes"))
    #expect(appended() == ["[image]"])
  }

  /// A gateway of an older version knows no contents: it processes their events at once.
  @Test func aProcessedEventKeepsBackNobody() async throws {
    _ = try await receive(picture("a"))
    try await run("UPDATE channel_events SET processed_at = now() WHERE workspace_id = $1::uuid")
    _ = try await receive(event("b", "two"))
    #expect(appended() == ["two"])
    _ = try await place.database.run(ChannelContents.forget)
    #expect(
      try await number("SELECT count(*) FROM channel_contents WHERE workspace_id = $1::uuid") == 0)
  }

  @Test func withoutAStorageAPictureIsALine() async throws {
    _ = try await place.database.ask(
      ChannelEvents.receive([picture("a")], on: "line", in: place.id, fetches: false))
    await inbox.process(in: place.id, now: Workplace.now)
    #expect(appended() == ["[image]"])
  }

  /// Its row was removed, such as after a day in which PostgreSQL was away.
  @Test func aFileThatIsGoneIsALine() async throws {
    _ = try await receive(picture("a"))
    try await end(try await takeContents()[0], .stored(Workplace.identifier()))
    #expect(appended() == ["[image]"])
  }
}

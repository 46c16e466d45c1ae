import Conversations
import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

@testable import Channels

/// A message that has failed is sent again.
extension ChannelDatabaseTests {
  func finish(_ sending: ChannelOutbox.Sending, _ reason: String? = nil) async throws {
    _ = try await place.database.run(
      ChannelOutbox.finish(sending, lease: lease, reason: reason))
  }

  func again(_ sending: ChannelOutbox.Sending) async throws -> ChannelState.Again {
    try await place.database.ask(
      ChannelState.sendAgain(sending.message.id, of: sending.session, in: place.id))
  }

  func states(_ session: Identifier) async throws -> [String] {
    let found = try await place.database.ask(
      ChannelState.conversation(session, in: place.id))
    return found?.deliveries.map { "\($0.status) \($0.reason ?? "-")" } ?? []
  }

  @Test func aFailedMessageIsSentAgain() async throws {
    _ = try await receive(event("a", "hi"))
    try await keepTokenFresh()
    let session = try await session()
    try await say(session, "one")
    let first = try await take()[0]
    #expect(try await again(first) == .unknown)
    try await finish(first, "quota")
    #expect(try await states(session) == ["failed quota"])
    #expect(try await again(first) == .due(seq: first.seq))
    #expect(try await again(first) == .due(seq: first.seq))
    #expect(try await states(session) == ["pending -"])
    try await keepTokenFresh()
    let second = try await take()
    // By the message's id as its retry key, so not with a reply token.
    #expect(second.map(\.message.id) == [first.message.id] && second[0].replyToken == nil)
    #expect(second[0].attempt == 1)
    try await finish(second[0], "no")
    #expect(try await states(session) == ["failed no"])
    #expect(try await take().isEmpty)
    #expect(try await again(first) == .due(seq: first.seq))
    try await finish(try await take()[0])
    #expect(try await states(session) == ["sent -"])
    #expect(try await again(first) == .sent)
    #expect(try await take().isEmpty)
  }

  @Test func itFollowsTheOneThatIsTried() async throws {
    _ = try await receive(event("a", "hi"))
    let session = try await session()
    for text in ["one", "two", "three"] { try await say(session, text) }
    let one = try await take()[0]
    try await finish(one, "no")
    let two = try await take()[0]
    #expect(two.message.body == "two")
    #expect(try await again(one) == .due(seq: one.seq))
    _ = try await place.database.run(
      ChannelOutbox.postpone(two, lease: lease, reason: "x", milliseconds: 0, dropsToken: false))
    let retried = try await take()
    #expect(retried.map(\.message.body) == ["two"] && retried[0].attempt == 2)
    try await finish(retried[0])
    let second = try await take()
    #expect(second.map(\.message.body) == ["one"] && second[0].attempt == 1)
    _ = try await place.database.run(
      ChannelOutbox.postpone(
        second[0], lease: lease, reason: "x", milliseconds: 0, dropsToken: false))
    let third = try await take()
    #expect(third.map(\.message.body) == ["one"] && third[0].attempt == 2)
    try await finish(third[0])
    #expect(try await take().map(\.message.body) == ["three"])
    #expect(try await states(session) == ["sent -", "sent -", "pending -"])
  }

  /// Without that an outcome that comes twice would end the attempt at another message.
  @Test func anOutcomeCountsOnce() async throws {
    _ = try await receive(event("a", "hi"))
    let session = try await session()
    try await say(session, "one")
    try await say(session, "two")
    let one = try await take()[0]
    try await finish(one, "no")
    let two = try await take()[0]
    try await finish(one)
    #expect(try await states(session) == ["failed no", "pending -"])
    try await finish(two)
    #expect(try await states(session) == ["failed no", "sent -"])
  }

  /// A gateway of an older version has passed over it.
  @Test func itIsFoundAgain() async throws {
    _ = try await receive(event("a", "hi"))
    try await say(try await session(), "one")
    let one = try await take()[0]
    try await finish(one, "no")
    #expect(try await take().isEmpty)
    _ = try await again(one)
    try await run("UPDATE channel_conversations SET due_at = NULL WHERE workspace_id = $1::uuid")
    #expect(try await take().isEmpty)
    _ = try await place.database.run(ChannelOutbox.noteRest)
    #expect(try await take().map(\.message.body) == ["one"])
  }

  /// The person has the parts that the platform took.
  @Test func itGoesOnWithThePartThatFailed() async throws {
    _ = try await receive(event("a", "hi"))
    let session = try await session()
    try await say(session, "one")
    try await say(session, "two")
    let one = try await take()[0]
    try await finish(one, "no")
    let two = try await take()[0]
    _ = try await place.database.run(ChannelOutbox.finishPart(two, lease: lease))
    // Between its parts no other message is sent.
    #expect(try await again(one) == .due(seq: one.seq))
    let rest = try await take()
    #expect(rest.map(\.message.body) == ["two"] && rest[0].part == 1)
    _ = try await place.database.run(
      ChannelOutbox.finish(rest[0], lease: lease, reason: "lost", isUnknown: true))
    #expect(try await take().map(\.part) == [0])
    try await finish(one)
    #expect(try await states(session) == ["sent -", "unknown lost"])
    #expect(try await again(two) == .due(seq: two.seq))
    for part in 1...2 {
      let sending = try await take()
      #expect(sending.map(\.message.body) == ["two"] && sending[0].part == part)
      if part == 1 {
        _ = try await place.database.run(ChannelOutbox.finishPart(sending[0], lease: lease))
      } else {
        try await finish(sending[0])
      }
    }
    #expect(try await states(session) == ["sent -", "sent -"])
  }
}

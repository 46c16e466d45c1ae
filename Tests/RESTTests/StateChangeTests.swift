import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

@Suite struct StateChangeTests {
  /// The lines of a log: seq, role, kind, body, event.
  func log(_ world: World, _ session: Identifier) async throws -> [[String: Any]] {
    try await world.call("GET", "\(conversations)/\(session)/messages").objects("messages")
  }

  @Test("a claim assigns the conversation and adds an event")
  func claim() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["hello"])
    let answer = try await world.call("POST", "\(conversations)/\(session)/claim")
    #expect(answer.status == 200)
    #expect(answer.string("conversation.status") == "active")
    #expect(answer.string("conversation.assignee.id") == world.mika.id.description)
    #expect(answer.string("conversation.assignee.name") == "Mika")
    #expect(answer.int("conversation.last_seq") == 2)
    #expect(answer.string("conversation.last_message.preview") == "hello")
    #expect(answer["conversation.waiting_since"] == nil)
    #expect(answer.string("conversation.claimed_at") != nil)
    #expect(world.sessions.hints.withLock { $0 } == [session])

    let line = try #require(try await log(world, session).last)
    #expect(line["seq"] as? Int == 2)
    #expect(line["kind"] as? String == "event")
    #expect(line["body"] as? String == "Mika joined")
    #expect((line["sender"] as? [String: Any])?["kind"] as? String == "system")
    #expect((line["sender"] as? [String: Any])?["id"] is NSNull)
    let payload = try #require(line["payload"] as? [String: Any])
    #expect(payload["event"] as? String == "claimed")
    #expect((payload["operator"] as? [String: Any])?["id"] as? String == world.mika.id.description)

    let again = try await world.call("POST", "\(conversations)/\(session)/claim")
    #expect(again.status == 200)
    #expect(again.int("conversation.last_seq") == 2)
    #expect(world.sessions.hints.withLock { $0.count } == 1)
  }

  @Test("a claimed conversation cannot be claimed; the response names its operator")
  func claimed() async throws {
    let world = try await World()
    let ivo = try await World.addOperator("Ivo", to: world.workspace, world.database)
    let session = try await world.conversation()
    _ = try await world.call("POST", "\(conversations)/\(session)/claim", as: ivo)
    let answer = try await world.call("POST", "\(conversations)/\(session)/claim")
    #expect(answer.status == 409)
    #expect(answer.problem == "already_claimed")
    #expect(answer.string("winner.id") == ivo.id.description)
    #expect(answer.string("winner.name") == "Ivo")
    #expect(answer.string("detail")?.contains("Ivo") == true)
  }

  @Test("a second close and a second reopening change nothing")
  func closeAndReopen() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["hello"])
    let path = "\(conversations)/\(session)"
    _ = try await world.call("POST", path + "/claim")
    for _ in 1...2 {
      let closed = try await world.call("POST", path + "/close")
      #expect(closed.status == 200)
      #expect(closed.string("conversation.status") == "closed")
      #expect(closed.string("conversation.closed_at") != nil)
      #expect(closed.int("conversation.last_seq") == 3)
    }
    let claim = try await world.call("POST", path + "/claim")
    #expect(claim.status == 409)
    #expect(claim.problem == "session_closed")
    for _ in 1...2 {
      let open = try await world.call("POST", path + "/reopen")
      #expect(open.status == 200)
      #expect(open.string("conversation.status") == "active")
      #expect(open.string("conversation.assignee.name") == "Mika")
      #expect(open["conversation.closed_at"] == nil)
      #expect(open["conversation.waiting_since"] == nil)
      #expect(open.int("conversation.last_seq") == 4)
    }
    #expect(world.sessions.hints.withLock { $0.count } == 3)
    let events = try await log(world, session).compactMap {
      ($0["payload"] as? [String: Any])?["event"] as? String
    }
    #expect(events == ["claimed", "closed", "reopened"])
  }

  @Test("without an operator a reopened conversation waits again")
  func reopenWaiting() async throws {
    let world = try await World()
    let session = try await world.conversation()
    _ = try await world.call("POST", "\(conversations)/\(session)/close")
    let open = try await world.call("POST", "\(conversations)/\(session)/reopen")
    #expect(open.string("conversation.status") == "waiting")
    #expect(open.string("conversation.waiting_since") != nil)
  }

  @Test("a body that is not JSON, or not declared as JSON, is refused without any effect")
  func bodies() async throws {
    let world = try await World()
    let session = try await world.conversation()
    let path = "\(conversations)/\(session)/claim"
    #expect(try await world.call("POST", path, json: "[").status == 400)
    let plain = await world.send(
      "POST", path,
      [("Authorization", try world.bearer(world.mika)), ("Content-Type", "text/plain")],
      "{}")
    #expect(plain.status == 415)
    #expect(try await world.call("POST", path, json: "{}").status == 200)
  }
}

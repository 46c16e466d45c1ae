import Chat
import Conversations
import Directory
import DomainFixtures
import Foundation
import Primitives
import Synchronization
import Testing

@testable import REST

@Suite struct MessageTests {
  @Test("a posted message is in the log, with its operator as sender")
  func post() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["hello"])
    let path = "\(conversations)/\(session)/messages"
    let id = World.identifier()
    let answer = try await world.call(
      "POST", path, json: #"{"id":"\#(id)","body":"Hi Ada ☀️","payload":{"n":1.50}}"#)
    #expect(answer.status == 201)
    #expect(answer.string("id") == id.description)
    #expect(answer.int("seq") == 2)
    #expect(answer.string("at")?.hasSuffix("Z") == true)
    let again = try await world.call("POST", path, json: #"{"id":"\#(id)","body":"Hi Ada ☀️"}"#)
    #expect(again.status == 200)
    #expect(again.int("seq") == 2)

    let page = try await world.call("GET", path)
    #expect(page.int("head") == 2)
    #expect(page.string("epoch") != nil)
    #expect(page["more"] as? Bool == false)
    let message = try #require(page.objects("messages").last)
    #expect(
      Set(message.keys) == ["session", "seq", "id", "sender", "kind", "body", "payload", "at"])
    #expect(message["body"] as? String == "Hi Ada ☀️")
    #expect(message["kind"] as? String == "text")
    let sender = try #require(message["sender"] as? [String: Any])
    #expect(sender["kind"] as? String == "operator")
    #expect(sender["id"] as? String == world.mika.id.description)
    #expect(sender["name"] as? String == "Mika")
    let first = try #require(page.objects("messages").first?["sender"] as? [String: Any])
    #expect(first["kind"] as? String == "visitor")
    #expect(first["name"] as? String == "Ada")
  }

  @Test("a message without an id gets one; the kind note makes a note")
  func note() async throws {
    let world = try await World()
    let session = try await world.conversation()
    let path = "\(conversations)/\(session)/messages"
    let answer = try await world.call("POST", path, json: #"{"kind":"note","body":"be nice"}"#)
    #expect(answer.status == 201)
    #expect(answer.string("id").flatMap { Identifier($0) } != nil)
    let page = try await world.call("GET", path)
    #expect(page.objects("messages").first?["kind"] as? String == "note")
  }

  @Test("the sender is the caller, regardless of the body (A11)")
  func sender() async throws {
    let world = try await World()
    let session = try await world.conversation()
    _ = try await world.call(
      "POST", "\(conversations)/\(session)/messages",
      json:
        #"{"body":"x","role":"system","sender":{"id":"\#(World.identifier())"},"operator":"Eve"}"#)
    let entry = try #require(world.sessions.appended.withLock { $0.first })
    #expect(entry.role == .operator_)
    #expect(entry.sender == world.mika.id)
    #expect(entry.senderName == Array("Mika".utf8))
  }

  @Test(
    "each verdict of the log has its response",
    arguments: [
      (Outcome.Verdict.stored, 201, ""), (.duplicate, 200, ""), (.conflict, 409, "id_conflict"),
      (.noSuchSession, 404, "no_such_session"), (.closed, 409, "session_closed"),
      (.rejected, 422, "rejected"), (.unavailable, 503, "unavailable"),
    ])
  func verdicts(verdict: Outcome.Verdict, status: Int, problem: String) async throws {
    let world = try await World()
    let session = try await world.conversation()
    world.sessions.scripted.withLock { $0 = Outcome(verdict: verdict, seq: 9, at: World.now) }
    let answer = try await world.call(
      "POST", "\(conversations)/\(session)/messages", json: #"{"body":"x"}"#)
    #expect(answer.status == status)
    #expect((answer.problem ?? "") == problem)
    #expect((answer.header("Retry-After") != nil) == (verdict == .unavailable))
  }

  @Test(
    "an invalid message is refused by the name of the member",
    arguments: [
      (#"{}"#, 400), (#"{"body":""}"#, 400), (#"{"body":1.5}"#, 400), (#"{"body":null}"#, 400),
      (#"{"body":"x","kind":"event"}"#, 400), (#"{"body":"x","kind":"card"}"#, 400),
      (#"{"body":"x","kind":7}"#, 400), (#"{"body":"x","id":"7"}"#, 400),
      (#"{"body":"x","id":1e400}"#, 400), (#"{"body":"x","payload":[]}"#, 400),
      (#"{"body":"x","payload":"{}"}"#, 400), (#"{"body":"a\u0000b"}"#, 422),
      (#"{"body":"\ud800"}"#, 422), (#"{"body":"x","payload":{"a":"\u0000"}}"#, 422),
      (#"[]"#, 400), (#""#, 400), (#"nonsense"#, 400),
    ])
  func refused(json: String, status: Int) async throws {
    let world = try await World()
    let session = try await world.conversation()
    let answer = try await world.call(
      "POST", "\(conversations)/\(session)/messages", json: json)
    #expect(answer.status == status)
    #expect(world.sessions.appended.withLock { $0.isEmpty })
  }

  @Test("sizes are limited in bytes: the limit is accepted, one byte more is not")
  func sizes() async throws {
    let world = try await World()
    let session = try await world.conversation()
    let path = "\(conversations)/\(session)/messages"
    func post(_ json: String) async throws -> Int {
      try await world.call("POST", path, json: json).status
    }
    let body = String(repeating: "é", count: Limits.bodyBytes / 2)
    #expect(try await post(#"{"body":"\#(body)"}"#) == 201)
    #expect(try await post(#"{"body":"\#(body)x"}"#) == 413)
    let filler = String(repeating: "p", count: Limits.payloadBytes - 8)
    #expect(try await post(#"{"body":"x","payload":{"a":"\#(filler)"}}"#) == 201)
    #expect(try await post(#"{"body":"x","payload":{"a":"\#(filler)p"}}"#) == 413)
    let huge = String(repeating: " ", count: 65_537)
    #expect(try await post(huge) == 413)
  }

  @Test("a page of long messages is shorter than the limit, and the next pages have the others")
  func longPages() async throws {
    let world = try await World()
    let body = String(repeating: "é", count: Limits.bodyBytes / 2)
    let count = 2 * MessageRange.pageBytes / Limits.bodyBytes + 4
    let session = try await world.conversation(messages: (1...count).map { _ in body })
    let path = "\(conversations)/\(session)/messages?limit=\(Limits.pageEntries)"
    func page(_ query: String) async throws -> (seqs: [Int], hasMore: Bool) {
      let answer = try await world.call("GET", path + query)
      return (
        answer.objects("messages").compactMap { $0["seq"] as? Int },
        answer["more"] as? Bool ?? false
      )
    }
    var seen: [Int] = []
    while true {
      let (seqs, hasMore) = try await page("&after=\(seen.last ?? 0)")
      #expect(seqs.count * Limits.bodyBytes <= MessageRange.pageBytes)
      #expect(!seqs.isEmpty)
      seen += seqs
      if !hasMore { break }
    }
    #expect(seen == Array(1...count))
    seen = []
    while true {
      let (seqs, hasMore) = try await page(seen.first.map { "&before=\($0)" } ?? "")
      #expect(seqs.count * Limits.bodyBytes <= MessageRange.pageBytes)
      seen = seqs + seen
      if !hasMore { break }
    }
    #expect(seen == Array(1...count))
  }

  @Test("pages forward and back have every message")
  func paging() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: (1...9).map { "m\($0)" })
    func page(_ query: String) async throws -> ([Int], Bool) {
      let answer = try await world.call("GET", "\(conversations)/\(session)/messages?\(query)")
      #expect(answer.status == 200)
      #expect(answer.int("head") == 9)
      return (
        answer.objects("messages").compactMap { $0["seq"] as? Int },
        answer["more"] as? Bool ?? false
      )
    }
    #expect(try await page("") == (Array(1...9), false))
    #expect(try await page("limit=4") == ([6, 7, 8, 9], true))
    #expect(try await page("limit=4&before=6") == ([2, 3, 4, 5], true))
    #expect(try await page("limit=4&before=2") == ([1], false))
    #expect(try await page("limit=4&after=0") == ([1, 2, 3, 4], true))
    #expect(try await page("limit=4&after=5") == ([6, 7, 8, 9], false))
    #expect(try await page("after=9") == ([], false))
    #expect(try await page("after=9007199254740991") == ([], false))
    #expect(try await page("before=0") == ([], false))
  }

  @Test("a session without entries has an empty page")
  func empty() async throws {
    let world = try await World()
    let session = try await world.conversation()
    let answer = try await world.call("GET", "\(conversations)/\(session)/messages")
    #expect(answer.status == 200)
    #expect(answer.int("head") == 0)
    #expect(answer.objects("messages").isEmpty)
  }

  @Test(
    "invalid positions and limits are refused (P09, P10)",
    arguments: [
      "after=-1", "before=-1", "after=1&before=2", "limit=0", "limit=201", "limit=1000000000",
      "after=9007199254740992", "after=1.5", "before=1e3", "after=x",
    ])
  func positions(query: String) async throws {
    let world = try await World()
    let session = try await world.conversation()
    let answer = try await world.call("GET", "\(conversations)/\(session)/messages?\(query)")
    #expect(answer.status == 400)
  }

  @Test("rows of former systems are listed")
  func legacy() async throws {
    let world = try await World()
    let session = try await world.conversation()
    for role in ["user", "assistant", "bot"] {
      _ = await world.database.store(
        session: session, workspace: world.workspace.id, id: World.identifier(), role: role,
        kind: "text", sender: nil, name: "", body: Array(role.utf8), payload: nil)
    }
    let page = try await world.call("GET", "\(conversations)/\(session)/messages")
    #expect(
      page.objects("messages").compactMap { $0["body"] as? String } == ["user", "assistant", "bot"])
  }
}

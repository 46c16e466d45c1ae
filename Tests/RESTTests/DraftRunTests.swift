import Assist
import Directory
import DomainFixtures
import Primitives
import Testing

@testable import REST

@Suite struct DraftRunTests {
  private let settings = "/api/v1/admin/assist"

  private func member(of workspace: Identifier) -> Operator {
    Operator(
      id: World.identifier(), email: "mika@example.com", name: "Mika", membership: "agent",
      workspace: workspace)
  }

  private func refusal(
    _ runs: DraftRuns, _ member: Operator, _ now: WallTime = World.now
  ) -> Problem? {
    do throws(Problem) {
      try runs.enter(member.id, of: member.workspace, now: now)
      return nil
    } catch {
      return error
    }
  }

  private func text(_ answer: Answer) -> String {
    String(decoding: answer.response.body, as: UTF8.self)
  }

  @Test("of one operator two drafts are written at once, of one workspace four")
  func perWorkspace() {
    let runs = DraftRuns(APIOptions.Rates())
    let here = World.identifier()
    let (mika, noor, ada) = (member(of: here), member(of: here), member(of: here))
    #expect(refusal(runs, mika) == nil && refusal(runs, mika) == nil)
    #expect(refusal(runs, mika)?.detail.contains("for you ") == true)
    #expect(refusal(runs, noor) == nil && refusal(runs, noor) == nil)
    #expect(refusal(runs, ada)?.detail.contains("for your workspace") == true)
    #expect(refusal(runs, member(of: World.identifier())) == nil)
    runs.leave(mika.id, of: here)
    #expect(refusal(runs, ada) == nil)
  }

  @Test("a gateway writes 8 drafts at once, and 16 wait")
  func inAll() {
    let runs = DraftRuns(APIOptions.Rates())
    let members = (0..<24).map { _ in member(of: World.identifier()) }
    for one in members { #expect(refusal(runs, one) == nil) }
    #expect(refusal(runs, member(of: World.identifier()))?.status == 503)
    runs.leave(members[0].id, of: members[0].workspace)
    #expect(refusal(runs, member(of: World.identifier())) == nil)
  }

  @Test("an operator has a rate, which comes back with time")
  func rate() {
    let runs = DraftRuns(APIOptions.Rates())
    let mika = member(of: World.identifier())
    for _ in 0..<30 {
      #expect(refusal(runs, mika) == nil)
      runs.leave(mika.id, of: mika.workspace)
    }
    #expect(refusal(runs, mika)?.limit == "member")
    #expect(refusal(runs, mika, World.now.advanced(bySeconds: 2)) == nil)
  }

  @Test("nothing is written without settings, with the use off, or above the limit of tokens")
  func refused() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let session = try await world.conversation(messages: ["Hello"])
    let path = "/api/v1/admin/live-chat/conversations/\(session)/assist"
    let wish = #"{"use":"suggest"}"#
    #expect(try await world.call("POST", path, json: wish).string("type") == off)
    let uses = "/api/v1/admin/live-chat/assist"
    let put = #""endpoint":"https://api.example.com/v1/","model":"m","api_key":"sk-1""#
    let made = try await world.call(
      "PUT", settings, as: admin, json: #"{\#(put),"uses":["suggest"],"tokens_per_day":1}"#)
    #expect(made.status == 200 && !text(made).contains("sk-1"))
    #expect(try await world.call("POST", path, json: wish).string("type") == off)
    #expect(text(try await world.call("GET", uses)) == #"{"uses":[]}"#)
    let on = try await world.call(
      "PUT", settings, as: admin,
      json: #"{"endpoint":"https://api.example.com/v1","model":"m","enabled":true}"#)
    #expect(text(on).contains(#""has_key":true"#) && text(on).contains(#""uses":["suggest"]"#))
    #expect(text(try await world.call("GET", uses)) == #"{"uses":["suggest"]}"#)
    // A refusal is not counted as running.
    for _ in 0...DraftRuns.perOwner {
      let answer = try await world.call("POST", path, json: wish)
      #expect(answer.status == 429 && answer.string("limit") == "assist_tokens_per_day")
    }
    #expect(
      try await world.call("POST", path, json: #"{"use":"summary"}"#).string("type") == off)
    #expect(try await world.call("DELETE", settings, as: admin).status == 204)
    #expect(try await world.call("DELETE", settings, as: admin).status == 404)
  }

  private let off = "urn:chirrup:problem:assist_off"

  @Test("without an endpoint there is no trial, agents make none, and its tokens are limited")
  func trial() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let path = "\(settings)/trial"
    #expect(try await world.call("POST", path).status == 403)
    #expect(try await world.call("POST", path, as: admin).problem == "assist_off")
    let put = #""endpoint":"https://api.example.com/v1","model":"m","tokens_per_day":1"#
    #expect(try await world.call("PUT", settings, as: admin, json: "{\(put)}").status == 200)
    #expect(try await world.call("POST", path, as: admin).problem == "assist_off")
    let on = #"{\#(put),"enabled":true}"#
    #expect(try await world.call("PUT", settings, as: admin, json: on).status == 200)
    for _ in 0...DraftRuns.perOwner {
      let answer = try await world.call("POST", path, as: admin)
      #expect(answer.status == 429 && answer.string("limit") == "assist_tokens_per_day")
    }
    // Saved by a gateway that allows private networks.
    let found = try await world.database.ask(AssistSettings.find(in: world.place.id))
    var private_ = try #require(found)
    private_.endpoint = "https://127.0.0.1/v1"
    try await world.database.ask(private_.put(by: world.actor))
    #expect(try await world.call("POST", path, as: admin).problem == "assist_address_refused")
  }

  @Test(
    "an automatic answer says that it is one; one that the model does not know is none",
    arguments: [
      (" At nine.\n", "At nine.\n\nA machine wrote this."), ("NO_ANSWER", nil),
      ("I am sorry: NO_ANSWER.", nil), (" \n", nil), ("a\0b", nil),
      (String(repeating: "x", count: 16_384), nil),
    ] as [(String, String?)])
  func messages(answer: String, message: String?) {
    #expect(AutomaticAnswers.message(answer, notice: "A machine wrote this.") == message)
  }

  @Test("runs are counted by kind and outcome, with their tokens and the time to the first text")
  func metrics() {
    var metrics = AssistMetrics()
    var result = CompletionResult.notSent
    metrics.end(.suggest, result, tokens: 0)
    result.fault = nil
    metrics.end(.automatic, result, tokens: 7)
    result.wasStopped = true
    metrics.end(.automatic, result, tokens: 5)
    metrics.begin(2_000_000)
    #expect(metrics.runs(of: .suggest, "endpoint_too_slow") == 1)
    #expect(metrics.runs(of: .automatic, "done") == 1)
    #expect(metrics.runs(of: .automatic, "stopped") == 1)
    #expect(metrics.tokens(of: .automatic) == 12 && metrics.tokens(of: .suggest) == 0)
    #expect(metrics.firstTexts.count == 1)
  }

  @Test(
    "a wish that cannot be is refused",
    arguments: [
      "{}", #"{"use":"sing"}"#, #"{"use":"translate","text":"x"}"#,
      #"{"use":"translate","language":"de"}"#, #"{"use":"summary","language":"German!"}"#,
      #"{"use":"summary","language":"d"}"#,
    ])
  func wishes(json: String) async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["Hello"])
    let path = "/api/v1/admin/live-chat/conversations/\(session)/assist"
    #expect(try await world.call("POST", path, json: json).status == 400)
  }

  @Test(
    "settings that cannot be are refused, and agents change none",
    arguments: [
      (#"{"model":"m"}"#, "/endpoint"), (#"{"endpoint":"https://api.example.com"}"#, "/model"),
      (#"{"endpoint":"http://api.example.com","model":"m"}"#, "/endpoint"),
      (#"{"endpoint":"https://127.0.0.1/v1","model":"m"}"#, "/endpoint"),
      (#"{"endpoint":"https://localhost/v1","model":"m"}"#, "/endpoint"),
      (#"{"endpoint":"https://169.254.169.254/v1","model":"m"}"#, "/endpoint"),
      (#"{"endpoint":"https://api.example.com?x","model":"m"}"#, "/endpoint"),
      (#"{"endpoint":"https://api.example.com","model":"é"}"#, "/model"),
      (#"{"endpoint":"https://api.example.com","model":"m","uses":["sing"]}"#, "/uses"),
      (#"{"endpoint":"https://api.example.com","model":"m","automatic":"yes"}"#, "/automatic"),
      (
        #"{"endpoint":"https://api.example.com","model":"m","automatic_notice":""}"#,
        "/automatic_notice"
      ),
      (#"{"endpoint":"https://api.example.com","model":"m","api_key":"a b"}"#, "/api_key"),
      (
        #"{"endpoint":"https://api.example.com","model":"m","api_key":"a\r\nX: y"}"#, "/api_key"
      ),
      (
        #"{"endpoint":"https://api.example.com","model":"m","tokens_per_day":0}"#, "/tokens_per_day"
      ),
      (
        #"{"endpoint":"https://api.example.com","model":"m","timeout_seconds":900}"#,
        "/timeout_seconds"
      ),
    ])
  func settings(json: String, pointer: String) async throws {
    let world = try await World()
    let answer = try await world.call(
      "PUT", settings, as: try await world.member(.admin), json: json)
    #expect(answer.status == 400 && answer.string("pointer") == pointer)
    #expect(try await world.call("PUT", settings, json: json).status == 403)
  }
}

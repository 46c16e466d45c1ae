/// Requests with a login are limited: those of a member, an API key, a visitor and a workspace
/// (issue 17.1).
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

@Suite struct RequestLimitTests {
  private let me = "/api/v1/auth/me"

  private func later(_ seconds: Int64) -> WallTime {
    WallTime(microseconds: World.now.microseconds + seconds * 1_000_000)
  }

  private func world(_ change: (inout APIOptions.Rates) -> Void) async throws -> World {
    var options = APIOptions()
    change(&options.rates)
    return try await World(options)
  }

  @Test("a member above the limit gets 429 with the limit and the time to wait, others do not")
  func member() async throws {
    let world = try await world { $0.requestsOfMember = APIOptions.Rate(burst: 3, perMinute: 6) }
    let other = try await World.addOperator("Noa", to: world.workspace, world.database)
    for remaining in [2, 1, 0] {
      let answer = try await world.call("GET", me)
      #expect(answer.status == 200)
      #expect(
        answer.header("RateLimit-Policy") == #""member";q=6;w=60, "workspace";q=12000;w=60"#)
      let seconds = (3 - remaining) * 10
      #expect(answer.header("RateLimit") == "\"member\";r=\(remaining);t=\(seconds)")
    }
    for _ in 1...2 {
      let refused = try await world.call("GET", me)
      #expect(refused.status == 429)
      #expect(refused.problem == "rate_limited")
      #expect(refused.string("limit") == "member")
      #expect(refused.header("Retry-After") == "10")
      #expect(refused.header("RateLimit-Policy")?.hasPrefix(#""member";q=6;w=60"#) == true)
    }
    #expect(try await world.call("GET", me, as: other).status == 200)
    #expect(try await world.call("GET", me, now: later(10)).status == 200)
    #expect(try await world.call("GET", me, now: later(10)).status == 429)
  }

  @Test("refusals count for the metrics, by limit and by who may use the route")
  func refusals() async throws {
    let world = try await world {
      $0.requestsOfMember = APIOptions.Rate(burst: 1, perMinute: 6)
      $0.widgetTokens = APIOptions.Rate(burst: 1, perMinute: 6)
    }
    func counts() -> [String] {
      world.api.metrics.refused.filter { $0.count > 0 }
        .map { "\($0.limit) \($0.routes) \($0.count)" }
    }
    _ = try await world.call("GET", me)
    _ = try await world.call("GET", "/api/v1/admin/nothing")
    #expect(counts() == [])
    for _ in 1...2 { #expect(try await world.call("GET", me).status == 429) }
    let body = #"{"workspace":"\#(world.workspace.publicKey)"}"#
    for status in [200, 429] {
      let answer = await world.send(
        "POST", "/api/v1/widget/token", [("Content-Type", "application/json")], body)
      #expect(answer.status == status)
    }
    #expect(counts() == ["member member 2", "address widget 1"])
    // The series are a closed list.
    #expect(world.api.metrics.refused.count == 48)
  }

  @Test("every limit that a refusal names has a series of its own")
  func limits() {
    let names = RefusalCounts.Limit.allCases.map(\.rawValue)
    #expect(names.contains(Problem.tooManyExpensive.limit ?? ""))
    #expect(names.contains(Problem.tooManyConversations(1).limit ?? ""))
    #expect(names.contains(Problem.tooManyUnsent.limit ?? ""))
    #expect(names.contains(Problem.tooManyUploads.limit ?? ""))
    for subject in ["member", "key", "visitor", "workspace", "parts"] {
      #expect(RequestLimits.Subject(rawValue: subject) != nil && names.contains(subject))
    }
  }

  @Test("a member's tokens share one limit")
  func tokens() async throws {
    let world = try await world { $0.requestsOfMember = APIOptions.Rate(burst: 2, perMinute: 6) }
    for (number, status) in [200, 200, 429].enumerated() {
      let bearer = try world.bearer(
        world.mika, now: WallTime(microseconds: World.now.microseconds - Int64(number) * 1_000_000))
      #expect(await world.send("GET", me, [("Authorization", bearer)]).status == status)
    }
  }

  @Test("an API key has a limit of its own, and a response of a failure has the fields too")
  func key() async throws {
    let world = try await world { $0.requestsOfKey = APIOptions.Rate(burst: 2, perMinute: 60) }
    let made = try await world.call(
      "POST", "/api/v1/admin/api-keys", as: try await world.member(.owner),
      json: #"{"name":"k","scopes":["settings:read"]}"#)
    let bearer = [("Authorization", "Bearer \(try #require(made.string("key")))")]
    let missing = await world.send("GET", "/api/v1/admin/members", bearer)
    #expect(missing.status == 403)
    #expect(missing.header("RateLimit") == #""key";r=1;t=1"#)
    #expect(await world.send("GET", "/api/v1/admin/settings", bearer).status == 200)
    let refused = await world.send("GET", "/api/v1/admin/settings", bearer)
    #expect(refused.status == 429)
    #expect(refused.string("limit") == "key")
    #expect(try await world.call("GET", me).status == 200)
  }

  @Test("the members of a workspace share its limit; a refused request counts for none")
  func workspace() async throws {
    let world = try await world {
      $0.requestsOfWorkspace = APIOptions.Rate(burst: 3, perMinute: 6)
      $0.requestsOfMember = APIOptions.Rate(burst: 4, perMinute: 6)
    }
    let other = try await World.addOperator("Noa", to: world.workspace, world.database)
    for _ in 1...3 { #expect(try await world.call("GET", me).status == 200) }
    let refused = try await world.call("GET", me, as: other)
    #expect(refused.status == 429)
    #expect(refused.string("limit") == "workspace")
    #expect(refused.string("detail")?.contains("workspace") == true)
    // Mika has one request left.
    #expect(try await world.call("GET", me).string("limit") == "workspace")
    #expect(try await world.call("GET", me, now: later(10)).status == 200)
  }

  @Test("a visitor's requests do not count for the workspace")
  func visitor() async throws {
    let world = try await world {
      $0.requestsOfVisitor = APIOptions.Rate(burst: 2, perMinute: 6)
      $0.requestsOfWorkspace = APIOptions.Rate(burst: 1, perMinute: 6)
    }
    let token = await world.send(
      "POST", "/api/v1/widget/token", [("Content-Type", "application/json")],
      #"{"workspace":"\#(world.workspace.publicKey)"}"#)
    let headers = [
      ("Authorization", "Bearer \(try #require(token.string("token")))"),
      ("Content-Type", "application/json"),
    ]
    for status in [200, 200, 429] {
      let answer = await world.send(
        "PUT", "/api/v1/widget/profile", headers, #"{"name":"Ada"}"#)
      #expect(answer.status == status)
      #expect(answer.string("limit") == (status == 429 ? "visitor" : nil))
    }
    #expect(try await world.call("GET", me).status == 200)
  }

  @Test("a refused credential costs no statement until its time is over")
  func noLookup() async throws {
    let world = try await world { $0.requestsOfMember = APIOptions.Rate(burst: 1, perMinute: 6) }
    let credential = 7
    let limits = RequestLimits(world.api.options.rates)
    try limits.check(credential, World.now)
    _ = try limits.take(.member(world.mika), credential, World.now)
    #expect(throws: Problem.self) {
      try limits.take(.member(world.mika), credential, World.now)
    }
    #expect(throws: Problem.self) { try limits.check(credential, World.now) }
    #expect(throws: Problem.self) { try limits.check(credential, later(9)) }
    try limits.check(credential, later(10))
    try limits.check(8, World.now)
  }

  @Test("0 is no limit, and there are no fields")
  func none() async throws {
    let world = try await world {
      $0.requestsOfMember = APIOptions.Rate(burst: 0, perMinute: 0)
      $0.requestsOfWorkspace = APIOptions.Rate(burst: 0, perMinute: 0)
    }
    let answer = try await world.call("GET", me)
    #expect(answer.status == 200)
    #expect(answer.header("RateLimit") == nil)
    #expect(answer.header("RateLimit-Policy") == nil)
  }
}

@Suite struct ExpensiveCallTests {
  private func id(_ number: UInt64) -> Identifier { Identifier(high: number, low: number) }
  private func owner(_ number: UInt64) -> ExpensiveCalls.Owner {
    ExpensiveCalls.Owner(workspace: id(number))
  }

  /// Calls that run until `finish`, and the order in which they began.
  private final class Calls: Sendable {
    private let state = Mutex(
      (begun: [UInt64](), waiting: [UInt64: CheckedContinuation<Void, Never>]()))

    var begun: [UInt64] { state.withLock { $0.begun } }

    func run(_ number: UInt64) async {
      await withCheckedContinuation { continuation in
        state.withLock {
          $0.begun.append(number)
          $0.waiting[number] = continuation
        }
      }
    }

    func finish(_ number: UInt64) {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
  }

  /// Waits for what other tasks do; the suite's time limit is the bound.
  private func until(_ isTrue: () -> Bool) async {
    while !isTrue() { try? await Task.sleep(for: .milliseconds(1)) }
  }

  @Test("calls of a workspace run one after the other, members take turns, others do not wait")
  func turns() async {
    let limit = ExpensiveCalls(runningMax: 1) { .zero }
    let calls = Calls()
    await withTaskGroup(of: Void.self) { group in
      func begin(_ number: UInt64, of workspace: UInt64, by caller: UInt64) {
        group.addTask {
          try? await limit.run(for: owner(workspace), id(caller)) { await calls.run(number) }
        }
      }
      begin(1, of: 1, by: 1)
      await until { calls.begun == [1] }
      for number in [2, 3] as [UInt64] {
        begin(number, of: 1, by: 1)
        await until { limit.counts(of: owner(1)).waiting == Int(number) - 1 }
      }
      #expect(limit.figures == (1, 2, 2))
      begin(4, of: 1, by: 2)
      await until { limit.counts(of: owner(1)).waiting == 3 }
      begin(9, of: 2, by: 3)
      await until { calls.begun == [1, 9] }
      // Of the first member one, then the second's, then the rest.
      for (finished, begun) in [(1, 2), (2, 4), (4, 3)] as [(UInt64, UInt64)] {
        calls.finish(finished)
        await until { calls.begun.last == begun }
        #expect(limit.counts(of: owner(1)).running == 1)
      }
      for number in [3, 9] as [UInt64] { calls.finish(number) }
      await group.waitForAll()
    }
    #expect(limit.counts(of: owner(1)) == (0, 0))
    #expect(limit.counts(of: owner(2)) == (0, 0))
    #expect(limit.figures == (0, 0, 3))
  }

  @Test("so many calls of one caller run or wait; one more is refused, another caller's is not")
  func bound() async throws {
    let limit = ExpensiveCalls(runningMax: 2) { .zero }
    let calls = Calls()
    await withTaskGroup(of: Void.self) { group in
      for number in 1...UInt64(ExpensiveCalls.ofCallerMax) {
        group.addTask {
          try? await limit.run(for: owner(1), id(1)) { await calls.run(number) }
        }
      }
      await until { limit.counts(of: owner(1)) == (2, ExpensiveCalls.ofCallerMax - 2) }
      await #expect(throws: Problem.self) { try await limit.run(for: owner(1), id(1)) {} }
      group.addTask { try? await limit.run(for: owner(1), id(2)) { await calls.run(100) } }
      await until { limit.counts(of: owner(1)).waiting == ExpensiveCalls.ofCallerMax - 1 }
      var finished = 0
      while finished <= ExpensiveCalls.ofCallerMax {
        let begun = calls.begun
        for number in begun[finished...] { calls.finish(number) }
        finished = begun.count
        try? await Task.sleep(for: .milliseconds(1))
      }
      await group.waitForAll()
    }
    try await limit.run(for: owner(1), id(1)) {}
  }

  @Test("a call that has waited too long does not run")
  func late() async throws {
    let time = Mutex(Instant.zero)
    let limit = ExpensiveCalls(runningMax: 1) { time.withLock { $0 } }
    let calls = Calls()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await limit.run(for: owner(1), id(1)) { await calls.run(1) }
        return true
      }
      await until { calls.begun == [1] }
      group.addTask {
        do throws(Problem) {
          try await limit.run(for: owner(1), id(1)) {}
          return true
        } catch {
          return error.limit != "expensive"
        }
      }
      await until { limit.counts(of: owner(1)).waiting == 1 }
      time.withLock { $0 = $0.advanced(byMilliseconds: ExpensiveCalls.waitMilliseconds) }
      calls.finish(1)
      var results: [Bool] = []
      for try await result in group { results.append(result) }
      #expect(results.filter { !$0 }.count == 1)
    }
    #expect(limit.counts(of: owner(1)) == (0, 0))
  }

  @Test("a cancelled statement gets 503 and says what to do")
  func tookTooLong() {
    let problem = Problem.database(.refused(.queryCanceled, message: "m"))
    #expect(problem.status == 503)
    #expect(problem.type == "took_too_long")
  }

  @Test("the routes that read much are marked: lists, searches, reports, exports, erasures")
  func routes() {
    let marked = API.routes.filter(\.isExpensive).map { "\($0.method) \($0.path)" }
    let admin = "/api/v1/admin"
    #expect(
      Set(marked) == [
        "GET \(admin)/live-chat/visitors", "POST \(admin)/live-chat/conversations/{id}/assist",
        "GET \(admin)/live-chat/conversations", "GET \(admin)/live-chat/deleted-conversations",
        "GET \(admin)/views", "GET \(admin)/live-chat/messages/search",
        "GET \(admin)/live-chat/export",
        "GET \(admin)/live-chat/analytics",
        "GET \(admin)/live-chat/analytics/operators", "GET \(admin)/live-chat/analytics/teams",
        "GET \(admin)/live-chat/analytics/tags", "GET \(admin)/live-chat/analytics/channels",
        "GET \(admin)/live-chat/analytics/ratings",
        "GET \(admin)/audit-log", "DELETE \(admin)/tags/{name}", "DELETE \(admin)/teams/{id}",
        "GET \(admin)/visitors", "POST \(admin)/visitors/{id}/merge",
        "GET \(admin)/visitors/{id}/export", "DELETE \(admin)/visitors/{id}",
        "GET \(admin)/webhooks/{id}/deliveries", "GET \(admin)/connections",
        "GET /api/v1/widget/sessions/{id}/transcript",
        "POST /api/v1/widget/sessions/{id}/transcript/mail",
      ])
  }
}

import Foundation
import Testing

@testable import chirrup_load

/// The contents of a comparison's YAML file, and their effect.
@Suite struct ComparisonPlanTests {
  private static let servers = """
    servers:
      - name: ours
        kind: chirrup
        command: ["{chirrup}", serve, "--listen=127.0.0.1:{port}"]
        echo: ws://127.0.0.1:{port}/debug/echo
        chat: ws://127.0.0.1:{port}
        data-directory: "{scratch}/data"
      - name: ours-TLS
        column: ours
        kind: chirrup
        command: ["{chirrup}"]
        echo: wss://127.0.0.1:{port}/debug/echo
      - name: peer
        kind: plain
        command: [$PEER, "{port}"]
        echo: ws://127.0.0.1:{port}/echo
        subscribe: ws://127.0.0.1:{port}/sub
        publish: ws://127.0.0.1:{port}/pub
      - name: twin
        kind: chirrup
        apart: true
        command: ["{chirrup}"]
        echo: ws://127.0.0.1:{port}/debug/echo
      - name: talker
        kind: plain
        command: [$TALKER, "{port}", "{database}"]
        postgres: "{scratch}/talker"
        chat: ws://127.0.0.1:{port}
        tokens: [$TALKER, mint, "{role}", "{count}"]
      - name: bare
        kind: raw
        pid: 17
        echo: ws://127.0.0.1:9
    """
  private static let work = """
    work:
      - name: small
        kind: echo
        options: { size: 20, in-flight: 16, warm-up: 0.5 }
        goals: [{ figure: cpu, against: peer, at-most: 0.9 }]
      - name: small over TLS
        kind: echo
        tls: true
      - { name: many, kind: fanout }
      - { name: hello, kind: upgrade }
      - { name: chat, kind: chat, split: true }
      - { name: visitors, kind: idle, subscribes: true }
      - { name: pair, kind: echo, servers: [ours, twin] }
      - { name: rest, kind: idle }
    """

  private func plan() throws -> ComparisonPlan {
    try ComparisonPlan.parse(Self.servers + "\n" + Self.work)
  }

  @Test func `the documented plan is parsed`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let path = folder.appending(path: "LoadTests/Peers/speed.yaml").path
    let plan = try ComparisonPlan.read(path)
    #expect(plan.subject == "chirrup")
    #expect(plan.columns.contains("uWebSockets") && plan.columns.contains("bare"))
    #expect(plan.work.contains { $0.tls && !$0.goals.isEmpty })
    for server in plan.servers { _ = try server.expanded(ComparisonPlan.placeholders) }
  }

  @Test
  func `TLS work uses the column's server with TLS`()
    throws
  {
    let plan = try plan()
    #expect(plan.subject == "ours" && plan.rounds == 3)
    #expect(plan.columns == ["ours", "peer", "twin", "talker", "bare"])
    #expect(plan.servers(for: plan.work[0]).map(\.name) == ["ours", "peer", "bare"])
    #expect(plan.servers(for: plan.work[1]).map(\.name) == ["ours-TLS"])
    #expect(plan.servers(for: plan.work[2]).map(\.name) == ["ours", "peer"])
    // Plain bytes need no upgrade.
    #expect(plan.servers(for: plan.work[3]).map(\.name) == ["ours", "peer"])
  }

  @Test func `options are passed as arguments`() throws {
    #expect(try plan().work[0].options == ["size": "20", "in-flight": "16", "warm-up": "0.5"])
  }

  @Test func `the kind of server determines a workload's arguments`() throws {
    let plan = try plan()
    func arguments(_ server: String, _ work: String) -> [String]? {
      guard let server = plan.servers.first(where: { $0.name == server }),
        let work = plan.work.first(where: { $0.name == work })
      else { return nil }
      return server.arguments(for: work)
    }
    let chat = ["ws://127.0.0.1:{port}", "--chirrup", "{chirrup}", "--data-dir", "{scratch}/data"]
    #expect(arguments("ours", "small") == ["ws://127.0.0.1:{port}/debug/echo"])
    #expect(arguments("ours", "many") == chat)
    #expect(arguments("ours", "chat") == ["--url"] + chat)
    #expect(arguments("ours", "visitors") == chat + ["--subscribe"])
    #expect(arguments("ours-TLS", "small")?.last == "--insecure")
    #expect(arguments("ours-TLS", "chat") == nil, "it names no data directory")
    #expect(
      arguments("peer", "many") == [
        "--subscribe", "ws://127.0.0.1:{port}/sub", "--publish", "ws://127.0.0.1:{port}/pub",
      ])
    #expect(arguments("peer", "chat") == nil && arguments("peer", "visitors") == nil)
    #expect(arguments("peer", "rest") == ["ws://127.0.0.1:{port}/echo"])
    #expect(
      arguments("talker", "chat") == [
        "--url", "ws://127.0.0.1:{port}", "--tokens", "{scratch}/tokens",
      ])
    #expect(arguments("talker", "small") == nil && arguments("talker", "visitors") == nil)
    #expect(arguments("bare", "small") == ["ws://127.0.0.1:9", "--raw"])
    #expect(arguments("bare", "rest") == nil)
  }

  @Test func `work that names servers uses only those`()
    throws
  {
    let plan = try plan()
    func names(_ work: String) -> [String] {
      plan.work.filter { $0.name == work }.flatMap { plan.servers(for: $0).map(\.name) }
    }
    #expect(names("pair") == ["ours", "twin"])
    #expect(!names("rest").contains("twin"))
  }

  @Test func `a program is replaced in the command and in the tokens' command`() throws {
    let plan = try plan()
    var talker = try #require(plan.servers.first { $0.name == "talker" })
    talker.use(program: "/t")
    #expect(talker.command == ["/t", "{port}", "{database}"])
    #expect(talker.tokens == ["/t", "mint", "{role}", "{count}"])
    #expect(plan.work.filter(\.isSplit).map(\.name) == ["chat"])
  }

  @Test func `placeholders are replaced, and unknown ones are an error`() throws {
    let names = ["port": "21000", "port+1": "21001", "chirrup": "/c", "scratch": "/s"]
    let server = try plan().servers[0].expanded(names)
    #expect(server.command == ["/c", "serve", "--listen=127.0.0.1:21000"])
    #expect(server.dataDirectory == "/s/data")
    #expect(try ServerPlan.expand("a{port+1}b{port}", names) == "a21001b21000")
    #expect(throws: PlanFailure.self) { try ServerPlan.expand("{prot}", names) }
    #expect(throws: PlanFailure.self) { try ServerPlan.expand("{port", names) }
  }

  @Test(
    "a misspelt key is an error",
    arguments: [
      "subjekt: ours", "rounds: 0", "subject: somebody", "options: { ecco: { size: 1 } }",
    ])
  func slips(line: String) {
    #expect(throws: (any Error).self) {
      try ComparisonPlan.parse(line + "\n" + Self.servers + "\n" + Self.work)
    }
  }

  @Test(
    "a misspelt key in work or in a goal is an error",
    arguments: [
      "  - { name: a, kind: ecco }",
      "  - { name: a, kind: echo, subscribes: true }",
      "  - { name: a, kind: echo, split: true }",
      "  - { name: a, kind: echo, servers: [nobody] }",
      "  - { name: a, kind: echo, rounds: 0 }",
      "  - { name: a, kind: echo, option: { size: 1 } }",
      "  - { name: small, kind: echo }",
      "  - { name: a, kind: echo, goals: [{ figure: cpu, against: nobody, at-most: 1 }] }",
      "  - { name: a, kind: echo, goals: [{ figure: cpu, against: ours, at-most: 1 }] }",
      "  - { name: a, kind: echo, goals: [{ figure: cpu, against: peer }] }",
      "  - { name: a, kind: echo, goals: [{ figure: cpu, at-most: 1, at-least: 1 }] }",
      "  - { name: a, kind: echo, goals: [{ figure: cpu, at-most: 0 }] }",
      "  - { name: a, kind: echo, goals: [{ figure: cpu, atmost: 1 }] }",
    ])
  func slipsInWork(line: String) {
    #expect(throws: (any Error).self) {
      try ComparisonPlan.parse(Self.servers + "\n" + Self.work + "\n" + line)
    }
  }

  @Test(
    "a misspelt key in a server is an error",
    arguments: [
      "name: a, kind: plain, echo: \"ws://x\"",
      "name: a, kind: plain, command: [x], pid: 1, echo: \"ws://x\"",
      "name: a, kind: plain, command: [x]",
      "name: a, kind: plain, command: [x], subscribe: \"ws://x\"",
      "name: a, kind: plain, command: [x], chat: \"ws://x\"",
      "name: a, kind: plain, command: [x], echo: \"ws://x\", tokens: [x]",
      "name: a, kind: plain, command: [x], chat: \"ws://x\", tokens: [\"{rolle}\"]",
      "name: a, kind: chirrup, command: [x], echo: \"ws://x\", postgres: y",
      "name: a, kind: plain, command: [x], echo: \"ws://x\", chat: \"wss://x\", data-directory: y",
      "name: a, column: ours, kind: plain, command: [x], echo: \"ws://x\"",
    ])
  func slipsInServers(fields: String) {
    #expect(throws: (any Error).self) {
      try ComparisonPlan.parse(Self.servers + "\n  - { \(fields) }\n" + Self.work)
    }
  }
}

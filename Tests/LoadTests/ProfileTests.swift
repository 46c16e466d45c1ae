import ArgumentParser
import Foundation
import Testing

@testable import chirrup_load

@Suite struct ProfileTests {
  private static let commands: [any ParsableCommand.Type] = [Chat.self, Idle.self]

  private func expand(_ yaml: String, _ arguments: [String]) throws -> [String] {
    let path = "/tmp/chirrup-profile-\(UInt64.random(in: 0 ..< .max)).yaml"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(yaml.utf8).write(to: URL(filePath: path))
    return try Profile.expand(
      arguments.map { $0.replacing("FILE", with: path) }, commands: Self.commands
    ).map { $0.replacing(path, with: "FILE") }
  }

  private func problems(_ yaml: String) -> [String] {
    do {
      _ = try expand(yaml, ["chat", "--profile", "FILE"])
      return []
    } catch {
      return (error as? ProfileFault)?.problems ?? ["\(error)"]
    }
  }

  @Test func `options and thresholds become arguments`() throws {
    let yaml = """
      command: chat
      title: A busy hour
      options:
        visitors: 5000
        operator_share: 0.3
        arrivals: constant
        insecure: true
        tokens: [a.json, b.json]
      thresholds:
        lost: 0
        ack_p99_ms: "< 10"
      """
    let wanted = [
      "chat", "--visitors=5000", "--operator-share=0.3", "--arrivals=constant", "--insecure",
      "--tokens=a.json", "--tokens=b.json", "--title=A busy hour", "--threshold=lost == 0",
      "--threshold=ack_p99_ms < 10",
    ]
    #expect(try expand(yaml, ["chat", "--profile", "FILE"]) == wanted + ["--profile", "FILE"])
    #expect(try expand(yaml, ["--profile=FILE"]) == wanted + ["--profile=FILE"])
  }

  @Test func `the command line overrides`() throws {
    let yaml = """
      options: {visitors: 5000, rate: 10, tokens: [a.json], insecure: false}
      title: one
      thresholds: {lost: 0, acked: "> 3"}
      """
    let own = [
      "chat", "--profile", "FILE", "--visitors", "3", "--tokens=x.json", "--title", "two",
      "--threshold", "acked > 9",
    ]
    #expect(
      try expand(yaml, own) == ["chat", "--rate=10", "--threshold=lost == 0"] + own.dropFirst())
  }

  @Test func `a positional argument is optional in the profile`() throws {
    let yaml = "{command: idle, options: {url: ws://x/debug/echo, pid: 1}}"
    #expect(
      try expand(yaml, ["idle", "--profile", "FILE"]).contains("ws://x/debug/echo"))
    #expect(
      try !expand(yaml, ["idle", "ws://y/debug/echo", "--profile", "FILE"])
        .contains("ws://x/debug/echo"))
  }

  @Test func `without a profile nothing changes`() throws {
    #expect(
      try Profile.expand(["chat", "--rate", "3"], commands: Self.commands)
        == ["chat", "--rate", "3"])
  }

  @Test(arguments: [
    ("options: {visitor: 3}", "chat has no option visitor; did you mean visitors?"),
    ("options: {visitors: many}", "visitors must be a whole number, not \"many\""),
    ("options: {visitors: 2.5}", "visitors must be a whole number, not \"2.5\""),
    ("options: {rate: fast}", "rate must be a number, not \"fast\""),
    ("options: {visitors: [1, 2]}", "visitors must be one value, not a list"),
    ("options: {insecure: 3}", "insecure must be true or false, not \"3\""),
    (
      "options: {arrivals: poison}",
      "arrivals must be poisson or constant, not \"poison\"; did you mean poisson?"
    ),
    ("options: {visitors: {a: 1}}", "visitors must be one value, or a list of them"),
    ("options: 3", "options must be names with values, such as \"visitors: 100\""),
    ("thresholds: {los: 0}", "unknown figure los; did you mean lost?"),
    ("thresholds: {lost: none}", "\"none\" is not a threshold"),
    ("treshold: {}", "unknown key treshold; did you mean thresholds?"),
    ("command: idle", "is for the command idle, not for chat"),
    ("options: {profile: x}", "chat has no option profile"),
    ("[1, 2", "invalid YAML"), ("", "the file is empty"),
  ])
  func `an error is described in a sentence`(yaml: String, sentence: String) {
    let found = problems(yaml)
    #expect(found.contains { $0.contains(sentence) }, "\(found)")
  }

  @Test func `all errors are reported together, with their lines`() {
    let found = problems("options:\n  visitor: 1\n  rate: x\n")
    #expect(found.count == 2)
    #expect(found.first?.contains(".yaml:2: ") == true && found.last?.contains(":3: ") == true)
  }

  @Test func `a missing file is reported`() {
    #expect(throws: ProfileFault(problems: ["the profile /nowhere.yaml cannot be read"])) {
      try Profile.expand(["chat", "--profile", "/nowhere.yaml"], commands: Self.commands)
    }
  }
}

/// The scenarios in the repository use existing commands and options.
@Suite struct ScenarioTests {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "LoadTests/Scenarios")
  static let files =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()

  @Test func `scenarios exist`() { #expect(Self.files.contains("smoke.yaml")) }

  @Test(arguments: files)
  func `a scenario can be run`(file: String) throws {
    let path = Self.folder.appending(path: file).path
    let arguments = try Profile.expand(
      ["--profile", path, "--chirrup", "chirrup"], commands: ChirrupLoad.commands)
    _ = try ChirrupLoad.parseAsRoot(arguments)
    #expect(arguments.contains { $0.hasPrefix("--threshold=") })
  }
}

@Suite struct LiveViewTests {
  private func state() -> LiveView.State {
    var snapshot = RunState.Snapshot(phase: .loading, clients: 2_020)
    snapshot.online = 2_020
    snapshot.made = 31_942
    snapshot.acked = 31_930
    snapshot.delivered = 63_860
    snapshot.violations = [.lost: 2]
    return LiveView.State(
      title: "Chat: 2,000 visitors", snapshot: snapshot, seconds: 32, plannedSeconds: 60,
      row: [
        "acked_per_second": 998, "ack_p99_ms": 9.2, "gateway_cores": 0.42,
        "gateway_resident_bytes": 2e8, "generator_cores": 0.2,
      ], ackedPerSecond: [1, nil, 3], ackP99: [])
  }

  private func plain(_ line: String) -> String {
    line.replacing(/\u{1B}\[[0-9;]*m/, with: "")
  }

  @Test(arguments: [1, 20, 40, 60, 80, 120, 250])
  func `no line is longer than the terminal`(columns: Int) {
    for phase in [RunState.Phase.connecting, .loading, .draining, .closing] {
      var state = state()
      state.snapshot.phase = phase
      let lines = LiveView(hasColour: true).lines(state, columns: columns)
      #expect(lines.allSatisfy { plain($0).count <= max(16, columns - 1) }, "\(lines)")
    }
  }

  @Test func `figures and promises are shown, without escapes if colours are off`() {
    let text = LiveView(hasColour: false).lines(state(), columns: 100).joined(separator: "\n")
    for part in [
      "acked 31,930", "998/s", "p99 9.2 ms", "lost 2", "duplicated 0", "reordered 0",
      "0:32 of 1:00, 0:28 left", "▃ █",
    ] {
      #expect(text.contains(part), "\(part) in \(text)")
    }
    #expect(!text.contains("\u{1B}"))
    #expect(
      LiveView(hasColour: true).lines(state(), columns: 100).joined().contains("\u{1B}[1;31m2"))
  }
}

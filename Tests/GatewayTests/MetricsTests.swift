import Conversations
import Directory
import Engine
import Foundation
import Kernel
import Primitives
import REST
import Testing

@testable import Gateway

/// The text of `/metrics`: config/METRICS.md documents every family, histograms count what
/// happened, and labels come from closed lists.
@Suite struct MetricsTests {
  struct Family: Hashable, CustomStringConvertible {
    var name: String
    var type: String
    var help: String
    var description: String { "| `\(name)` | \(type) | \(help) |" }
  }

  /// Every figure has a value, so that every family is in the text.
  private static func full() throws -> MetricsSnapshot {
    var loop = LoopMetrics()
    loop.faults.count(.http, "unknown host")
    loop.closed[1000] = 1
    loop.durations.requests.add(APIResponse(status: 404), 2_000_000)
    var snapshot = MetricsSnapshot(loops: [loop])
    snapshot.stored.backlog = Backlog()
    snapshot.stored.quarantined = 0
    snapshot.process = try ProcessFigures.read()
    snapshot.certificates = [("/etc/a \"b\\c.pem", 1_800_000_000)]
    var record = UpkeepRecord()
    record.take(UpkeepRun(task: "retention", since: WallTime(microseconds: 1)))
    record.beginUnlessUnderWay(.zero)
    record.end(.done, pause: 0, now: .zero, wall: WallTime(microseconds: 1_800_000_000_500_000))
    snapshot.upkeep = [(.retention, record)]
    snapshot.version = "1.2.3"
    return snapshot
  }

  private static func families(of text: String) -> [Family] {
    let pattern = /# HELP (\S+) ([^\n]+)\n# TYPE \S+ (\S+)\n/
    return text.matches(of: pattern).map {
      Family(name: String($0.1), type: String($0.3), help: String($0.2))
    }
  }

  @Test("config/METRICS.md lists every family with its type and its text, and no others")
  func documented() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "config/METRICS.md"), encoding: .utf8)
    let rows = page.matches(of: /\n\| `([a-z_]+)` \| ([a-z]+) \| ([^|\n]+) \|/).map {
      Family(name: String($0.1), type: String($0.2), help: String($0.3))
    }
    let families = Self.families(of: PrometheusText.text(try Self.full()))
    #expect(Set(families).subtracting(rows).isEmpty, "not in config/METRICS.md")
    #expect(Set(rows).subtracting(families).isEmpty, "in config/METRICS.md only")
    #expect(rows.count == Set(rows.map(\.name)).count)
    #expect(families.count == Set(families.map(\.name)).count)
  }

  @Test("labels are escaped")
  func labels() throws {
    let text = PrometheusText.text(try Self.full())
    #expect(text.contains(#"{file="/etc/a \"b\\c.pem"} 1800000000"#))
    #expect(
      text.contains(
        #"chirrup_upkeep_last_success_timestamp_seconds{task="retention"} 1800000000.500000000"#))
    #expect(text.contains(#"chirrup_upkeep_failures_total{task="retention"} 0"#))
    #expect(text.contains(#"chirrup_build_info{version="1.2.3"} 1"#))
  }

  @Test("a message counts once in each phase, with its batch and the statement of its session")
  func phases() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let (session, token) = try gateway.visitor()
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":"h","token":"\#(token)","#
        + #""subscribe":[{"session":"\#(session)","tail":3,"ref":"s"}]}"#)
    _ = try client.hear(#""live""#)
    for number in 0..<3 {
      try client.say(
        #"{"type":"send","ref":"\#(number)","session":"\#(session)","#
          + #""id":"\#(RunningGateway.makeID())","body":"hello"}"#)
    }
    _ = try client.hear(#""type":"ack""#, count: 3)
    func total(_ histogram: (LoopMetrics) -> DurationHistogram) -> UInt64 {
      gateway.context.metrics.read().reduce(0) { $0 + histogram($1).count }
    }
    // The loops publish their metrics at the next sweep.
    while total(\.durations.delivery) < 3 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(total(\.engine.queueTimes) == 3)
    #expect(total(\.durations.commit) == 3)
    #expect(total(\.durations.delivery) == 3)
    #expect((1...3).contains(total(\.durations.batch)))
    #expect(total { $0.durations.statements[.session] } >= 1)
    #expect(gateway.context.metrics.read().allSatisfy { $0.oldestRecord == 0 })
  }

  @Test("REST requests count by the pattern of their route and the class of their status")
  func routes() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    let id = RunningGateway.makeID()
    for path in ["admin/live-chat/conversations/\(id)/messages", "nothing/at/all"] {
      let client = try RawClient(port: gateway.port)
      try client.send(
        "GET /api/v1/\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
      _ = try client.readToEnd()
    }
    func text() -> String { PrometheusText.text(MetricsSnapshot(gateway.context)) }
    while !text().contains(#"route="other""#) { try await Task.sleep(for: .milliseconds(5)) }
    let lines = text().split(separator: "\n").filter {
      $0.hasPrefix("chirrup_rest_request_duration_seconds_count")
    }
    #expect(lines.count == 2)
    #expect(
      lines.contains(
        #"chirrup_rest_request_duration_seconds_count{method="other",route="other",status="4xx"} 1"#
      ))
    let pattern = "/api/v1/admin/live-chat/conversations/{id}/messages"
    #expect(
      lines.contains { $0.hasSuffix(#"{method="GET",route="\#(pattern)",status="4xx"} 1"#) })
    #expect(lines.allSatisfy { !$0.contains("nothing") })
  }

  @Test("each route in each class of status is at most one series")
  func bounds() {
    var requests = RequestDurations()
    for status in 0..<1_000 {
      requests.add(APIResponse(status: status), 1)
    }
    #expect(requests.times.count == 5)
  }
}

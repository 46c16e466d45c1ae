import Foundation
import Testing

@testable import chirrup_load

/// Ratios, goals and tables of a comparison.
@Suite struct ComparisonTests {
  private func record(
    _ goals: [Goal] = [], ours: [Double?], peer: [Double?]
  ) -> ComparisonRecord {
    var record = ComparisonRecord(
      machine: "m", version: "v", startedAt: "t", subject: "ours",
      columns: ["ours", "peer", "gone"], missing: ["gone": "not built"], placement: "p")
    var row = ComparisonRecord.Row(name: "echo", kind: .echo, goals: goals)
    for (column, values) in [("ours", ours), ("peer", peer)] {
      for (index, value) in values.enumerated() {
        row.turns.append(
          ComparisonRecord.Turn(
            column: column, round: index + 1,
            figures: value.map {
              TurnFigures(count: 100, perSecond: 1e6 / $0, cpuMicroseconds: $0)
            }, failure: value == nil ? "it broke" : nil))
      }
    }
    record.work = [row]
    return record
  }

  private func goal(_ bound: Goal.Bound, against peer: String? = "peer") -> Goal {
    Goal(figure: .cpu, against: peer, bound: bound)
  }

  @Test func `a ratio compares figures of the same round, and the median has a range`() {
    // The machine was three times as slow in the second round.
    let record = record(ours: [4, 15, 4.5], peer: [5, 15, 5])
    let ratio = record.ratio(record.work[0], .cpu, to: "peer")
    #expect(ratio?.median == 0.9 && ratio?.min == 0.8 && ratio?.max == 1)
    #expect(record.ratio(record.work[0], .throughput, to: "peer")?.max == 1.25)
    #expect(record.spread(record.work[0], .cpu, "ours")?.median == 4.5)
    #expect(record.ratio(record.work[0], .memory, to: "peer") == nil)
  }

  @Test func `a round with a failed turn has no ratio, and reports the failure`() {
    let record = record(ours: [4, nil, 6], peer: [5, 5, nil])
    let ratio = record.ratio(record.work[0], .cpu, to: "peer")
    #expect(ratio?.min == 0.8 && ratio?.max == 0.8)
    #expect(record.failures.count == 2)
    let table = ComparisonTable(record: record).description
    #expect(table.contains("failed: echo, ours, round 2: it broke"))
    #expect(table.contains("missing: gone: not built"))
  }

  @Test func `a goal is met up to its bound and missed beyond it`() {
    let outcomes = record(
      [goal(.atMost(0.8)), goal(.atMost(0.79)), goal(.atLeast(0.8)), goal(.atLeast(0.81))],
      ours: [4], peer: [5]
    ).verdicts.map(\.outcome)
    #expect(outcomes == [.met, .missed, .met, .missed])
  }

  @Test func `a goal without a peer applies to the figure itself`() {
    let outcomes = record(
      [goal(.atMost(4), against: nil), goal(.atMost(3.9), against: nil)], ours: [4, 4, 9], peer: []
    ).verdicts.map(\.outcome)
    #expect(outcomes == [.met, .missed])
  }

  @Test func `a goal without a measurement is not met`() {
    let goals = [goal(.atMost(1), against: "gone"), goal(.atMost(1))]
    let record = record(goals, ours: [4], peer: [nil])
    #expect(record.verdicts.map(\.outcome) == [.unmeasured, .unmeasured])
    #expect(record.verdicts.map(\.reason) == ["gone is missing: not built", "peer: it broke"])
    let table = ComparisonTable(record: record).description
    #expect(table.contains("not measured: gone is missing: not built"))
  }

  @Test func `work without a goal also has a line`() {
    let table = ComparisonTable(record: record(ours: [4], peer: [5])).description
    #expect(table.contains(/\| echo +\| none +\| – +\| for comparison +\|/))
  }

  @Test func `records are read back, and merged by rounds and work`()
    throws
  {
    let first = record([goal(.atMost(0.9))], ours: [4], peer: [5])
    var all = try JSONDecoder().decode(ComparisonRecord.self, from: first.json())
    #expect(all == first)
    var second = record(ours: [4.5], peer: [5])
    second.work.append(ComparisonRecord.Row(name: "more", kind: .upgrade, goals: []))
    try all.append(second)
    #expect(all.work.map(\.name) == ["echo", "more"])
    #expect(all.work[0].turns.map(\.round) == [1, 1, 2, 2])
    #expect(all.ratio(all.work[0], .cpu, to: "peer")?.max == 0.9)
    second.machine = "another"
    #expect(throws: PlanFailure.self) { try all.append(second) }
  }

  @Test func `the figures of a workload are read from its JSON`() throws {
    let json = """
      {"workload": "echo", "messages": 1000, "seconds": 0.5, "messages_per_second": 2000,
       "server_cpu_us_per_message": 4.5, "client_utilisation": 0.7, "problems": [], "passed": true,
       "latency_us": {"count": 10, "p50": 100, "p90": 1, "p99": 1500, "p999": 1, "max": 1}}
      """
    let figures = try TurnFigures(Data(json.utf8))
    #expect(figures.count == 1000 && figures[.throughput] == 2000 && figures[.cpu] == 4.5)
    #expect(figures.p99 == 1.5 && figures.clientLoad == 0.7)
  }

  @Test func `the cost of an idle connection is read from the record of idle`() throws {
    let json = """
      {"command": "idle", "figures": {"connections": 10000, "resident_bytes_per_connection": 781},
       "problems": [], "setup": []}
      """
    let figures = try TurnFigures(Data(json.utf8))
    #expect(figures.count == 10_000 && figures[.memory] == 781 && figures[.cpu] == nil)
  }

  @Test func `figures of gateways are read from the record by name`() throws {
    func figures(_ json: String) throws -> TurnFigures {
      try TurnFigures(Data(#"{"figures": {\#(json)}, "problems": []}"#.utf8))
    }
    let chat = try figures(
      """
      "connections": 7500, "acked": 1000, "gateway_cpu_us_per_message": 24.5,
      "acked_per_second": 100, "ack_p99_ms": 8, "generator_cores": 0.5
      """)
    #expect(chat.count == 1_000 && chat[.cpu] == 24.5 && chat[.throughput] == 100)
    #expect(chat[.ackP99] == 8 && chat.clientLoad == 0.5)
    let durable = try figures(
      """
      "rows_compared": 9, "gateway_over_direct": 0.8, "ack_p99_ms": 50, "half_ack_p99_ms": 9
      """)
    #expect(durable[.ceiling] == 0.8 && durable[.ackP99] == 9)
    let growth = try figures(
      """
      "connections": 19000, "delivery_cost_ratio": 1.2, "memory_ratio": 0.9, "idle_cores": 0.004,
      "gateway_cpu_us_per_message": 700
      """)
    #expect(growth[.costGrowth] == 1.2 && growth[.memoryGrowth] == 0.9 && growth[.idle] == 0.004)
    #expect(growth[.cpu] == nil, "the figure depends on the number of recipients")
  }

  @Test(
    "a failed workload has no figures",
    arguments: [
      #"{"messages": 1000, "passed": false, "problems": []}"#,
      #"{"messages": 1000, "passed": true, "problems": ["wrong bytes"]}"#,
      #"{"messages": 0, "passed": true, "problems": []}"#, "{}", "[]", "",
      #"{"figures": {"connections": 9, "resident_bytes_per_connection": 0}, "problems": []}"#,
    ])
  func failed(json: String) {
    #expect(throws: PlanFailure.self) { try TurnFigures(Data(json.utf8)) }
  }

  @Test func `busy ticks exclude idle ones`() {
    #expect(Neighbours.busyTicks("cpu  10 20 30 1000 500 1 2 7 0 0\ncpu0 1 1") == 63)
    #expect(Neighbours.busyTicks("intr 1") == nil)
  }
}

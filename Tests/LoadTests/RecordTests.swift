import ArgumentParser
import Foundation
import Histogram
import Testing

@testable import chirrup_load

/// The record of a run, which other programs and later versions read.
@Suite struct RecordTests {
  static func sample() -> RunRecord {
    var record = RunRecord(command: "chat", title: "Chat <b>&\"quoted\"</b>")
    record.meta.seed = .max
    record.meta.gatewayVersion = "0.1.0"
    record.add(setup: "Visitors", "2,000")
    record.proof = [.init(label: "Sent", count: 12, note: "by 3 visitors")]
    record.add(["lost": 0, "duplicated": 1])
    var histogram = Intervals.empty
    for value in 1...2_000 { histogram.record(UInt64(value)) }
    record.add(latency: "ack", histogram)
    record.set("acked", 12)
    record.series.seconds = [1, 2]
    record.series.columns = ["acked_per_second": [1.5, nil]]
    record.batches = [.init(from: 1, count: 2), .init(from: 3, count: 0)]
    record.outcomes = ["closes": ["1006": 2]]
    record.comparisons = [
      .init(
        label: "Echo", unit: "µs", ours: 1, theirs: 2, peer: "bare", ratio: 0.5, ratioMin: 0.4,
        ratioMax: 0.6, isLessBetter: true, goal: 0.9)
    ]
    record.rounds = [["acked_per_second": 3]]
    record.thresholds = [.init(figure: "lost", condition: "== 0", value: nil, isKept: false)]
    record.events = [.init(name: "kill", atSeconds: 1, lastsSeconds: 0.5)]
    record.problems = ["one"]
    record.verdict = .failed
    return record
  }

  @Test func `a record is read back`() throws {
    let record = Self.sample()
    #expect(try RunRecord(json: record.json()) == record)
  }

  @Test func `keys in the file are in snake case, and figure names are unchanged`() throws {
    let object = try JSONSerialization.jsonObject(with: Self.sample().json())
    let fields = try #require(object as? [String: Any])
    #expect(fields["format"] as? String == "chirrup-load/1")
    let meta = try #require(fields["meta"] as? [String: Any])
    #expect(meta["command_line"] != nil && meta["gateway_version"] as? String == "0.1.0")
    let figures = try #require(fields["figures"] as? [String: Double])
    #expect(figures["ack_p999_ms"] == 1.999)
    let series = try #require(fields["series"] as? [String: Any])
    #expect((series["columns"] as? [String: Any])?["acked_per_second"] != nil)
    #expect((fields["thresholds"] as? [[String: Any]])?.first?["is_kept"] as? Bool == false)
  }

  @Test func `a file of another format is refused with a message`() throws {
    let path = "/tmp/chirrup-record-\(UInt64.random(in: 0 ..< .max)).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var record = Self.sample()
    record.format = "chirrup-load/999"
    try record.json().write(to: URL(filePath: path))
    #expect(throws: ReportFailure.self) { try RunRecord(file: path) }
    try Data("{}".utf8).write(to: URL(filePath: path))
    #expect(throws: ReportFailure.self) { try RunRecord(file: path) }
  }

  @Test func `a percentile curve rises to the largest value and contains only recorded ones`() {
    for count in [1, 2, 10, 1_000, 50_000] {
      var histogram = Intervals.empty
      for value in 1...count { histogram.record(UInt64(value * 10)) }
      let curve = LatencyRecord(microseconds: histogram)
      #expect(curve.count == count)
      #expect(curve.milliseconds == curve.milliseconds.sorted())
      #expect(curve.percentiles == curve.percentiles.sorted())
      #expect(curve.milliseconds.last == curve.maxMilliseconds)
      #expect(curve.percentiles.count == curve.milliseconds.count)
    }
    let none = LatencyRecord(microseconds: Intervals.empty)
    #expect(none.count == 0 && none.percentiles.isEmpty && none.at(99) == 0)
  }

  @Test func `each figure has one meaning`() {
    let names = Figure.all.map(\.name)
    #expect(Set(names).count == names.count)
    let isSnakeCase = names.allSatisfy { $0.wholeMatch(of: /[a-z][a-z0-9]*(_[a-z0-9]+)*/) != nil }
    #expect(isSnakeCase)
  }

  @Test(arguments: [
    ("postgresql://ada:secret@db/chirrup", "secret"),
    ("host=db user=ada password=secret dbname=x", "secret"),
    ("host=db password='a secret' dbname=x", "a secret"),
    ("ws://h/api/v1/ws?token=secret", "secret"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2VjcmV0", "c2VjcmV0"),
  ])
  func `a report contains no secret`(argument: String, secret: String) {
    let line = Meta.withoutSecrets(["/opt/chirrup-load", "chat", "--database-url", argument])
    #expect(!line.contains(secret))
    #expect(line.hasPrefix("chirrup-load chat --database-url "))
  }
}

@Suite struct ThresholdTests {
  @Test(arguments: [
    ("< 10", 9.9, 10), ("<= 10", 10, 10.1), ("> 10", 10.1, 10), (">= 10", 10, 9.9),
    ("== 0", 0, 1), ("!= 0", 1, 0), ("0", 0, 0.5), ("<1_000", 999, 1_000),
  ])
  func `a condition is met or missed`(condition: String, kept: Double, missed: Double) throws {
    let threshold = try Threshold(figure: "ack_p99_ms", condition: condition)
    #expect(threshold.isKept(by: kept))
    #expect(!threshold.isKept(by: missed))
  }

  @Test func `a threshold without a measurement is missed`() throws {
    let threshold = try Threshold("lost==0")
    #expect(!threshold.verdict([:]).isKept)
    #expect(threshold.verdict(["lost": 0]).isKept)
  }

  @Test(arguments: ["", "lost", "< 3", "lost ~ 3", "lost < many", "lost < inf", "lost <", "lost 3"])
  func `a malformed threshold is refused`(text: String) {
    #expect(
      throws: ThresholdFault.malformed(
        text.contains("<") && text.hasPrefix("lost")
          ? String(text.dropFirst(5)) : text)
    ) { try Threshold(text) }
  }

  @Test func `an unknown figure is refused with the nearest name`() {
    #expect(throws: ThresholdFault.unknownFigure("ack_p9_ms", meant: "ack_p99_ms")) {
      try Threshold("ack_p9_ms < 3")
    }
    #expect(throws: ThresholdFault.unknownFigure("temperature", meant: nil)) {
      try Threshold("temperature < 3")
    }
  }

  @Test func `a missed threshold fails a run that kept its promises, and no other`() throws {
    let options = try ReportOptions.parse(["--threshold", "acked > 100", "--threshold=lost==0"])
    var record = RunRecord(command: "chat", title: "")
    record.set("acked", 12)
    record.set("lost", 0)
    try options.conclude(&record)
    #expect(record.verdict == .missed)
    #expect(record.thresholds.map(\.isKept) == [false, true])
    record.verdict = .failed
    try options.conclude(&record)
    #expect(record.verdict == .failed)
    record.verdict = .passed
    record.set("acked", 101)
    try options.conclude(&record)
    #expect(record.verdict == .passed)
  }
}

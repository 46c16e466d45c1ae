import Foundation
import Testing

@testable import chirrup_load

@Suite struct ScaleTests {
  @Test(arguments: [[], [0], [0, 0], [-3], [Double.nan], [Double.infinity]] as [[Double]])
  func `a scale exists without values`(values: [Double]) {
    for scale in [Scale.linear(values), .binary(values), .logarithmic(values)] {
      #expect(scale.high > scale.low)
      #expect(scale.ticks.count >= 2)
      for value in values + [0, 1, -1, 1e300] {
        #expect((0...1).contains(scale.fraction(value)))
      }
    }
  }

  @Test(arguments: [0.003, 1, 7, 99.9, 100, 12_345, 1e9])
  func `a scale includes its largest value, and not much more`(value: Double) {
    let scale = Scale.linear([0, value])
    #expect(scale.high >= value && scale.high <= value * 2)
    #expect((2...12).contains(scale.ticks.count))
    let decades = Scale.logarithmic([value])
    #expect(decades.low <= value * (1 + 1e-9) && decades.high >= value * (1 - 1e-9))
    #expect(decades.high / decades.low <= 10.001)
  }

  @Test func `the ticks of a time axis are a few round numbers from 0`() {
    for (end, last) in [(0.4, 0.0), (9.7, 9), (60, 60), (600, 600), (14_400, 14_400)] {
      let moments = Scale.moments(until: end, atMost: 10)
      #expect(moments.first == 0 && moments.last == last)
      #expect(moments.count <= 11)
    }
    #expect(Scale.moments(until: 40 * 86_400, atMost: 4).count <= 7)
  }

  @Test func `a peak of one second stays visible in a day`() {
    let x = (0..<86_400).map { Double($0) }
    var values = [Double?](repeating: 1, count: x.count)
    values[40_000] = 900
    values[50_000] = 0
    for index in 60_000..<61_000 { values[index] = nil }
    let kept = downsampled(x, values, buckets: 300)
    #expect(kept.count <= 900)
    #expect(kept.contains { $0.y == 900 } && kept.contains { $0.y == 0 })
    #expect(kept.contains { $0.y == nil })
    #expect(kept.map(\.x) == kept.map(\.x).sorted())
  }

  @Test func `a short series keeps all values`() {
    #expect(downsampled([], [], buckets: 10).isEmpty)
    #expect(downsampled([1], [2], buckets: 10).map(\.y) == [2])
    #expect(downsampled([1, 2], [nil, 2], buckets: 10).map(\.y) == [nil, 2])
    // All at one moment.
    #expect(
      downsampled(Array(repeating: 1, count: 9), Array(repeating: 2, count: 9), buckets: 2).count
        == 9)
  }

  @Test func `overlapping labels move apart, within the bounds`() {
    let places = apart([50, 50, 52, 99], by: 14, within: 10...100)
    let sorted = places.sorted()
    #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $1 - $0 >= 13.9 })
    #expect(sorted.last ?? 0 <= 100)
  }
}

@Suite struct PageTests {
  /// Markup that a browser would reject, or an attacker could use.
  private func isSound(_ page: String) -> Bool {
    let opened = page.matches(of: /<([a-z][a-z0-9]*)[ >]/).map { String($0.1) }
    let closed = page.matches(of: /<\/([a-z][a-z0-9]*)>/).map { String($0.1) }
    let single = page.matches(of: /<([a-z][a-z0-9]*)[^<>]*\/>/).map { String($0.1) } + ["meta"]
    let counts = Dictionary(grouping: opened, by: { $0 }).mapValues(\.count)
    return counts.allSatisfy { name, count in
      name == "meta"
        || count == closed.count { $0 == name } + single.count { $0 == name }
    } && !page.contains("nan") && !page.contains("inf\"")
  }

  @Test func `a page with all parts is valid, and user text is escaped`() {
    var record = RecordTests.sample()
    record.problems = ["<script>alert(1)</script>", "a \u{0}\u{8} b"]
    record.events = [.init(name: "\"><svg onload=x>", atSeconds: 0.5, lastsSeconds: 1)]
    record.outcomes = ["closes": ["<i>": 1]]
    record.meta.commandLine = "chirrup-load chat --title '</style><script>'"
    let page = Page.text(record)
    #expect(isSound(page))
    #expect(!page.contains("<script") && !page.contains("<svg onload") && !page.contains("<i>"))
    #expect(!page.contains("\u{0}"))
    #expect(page.contains("Chat &lt;b&gt;&amp;&quot;quoted&quot;&lt;/b&gt;"))
    #expect(page.contains(">Failed<"))
  }

  @Test func `a page loads no other files`() {
    let page = Page.text(RecordTests.sample())
    for word in ["http:", "https:", "src=", "url(", "@import", "<link", "<script"] {
      #expect(!page.contains(word), "\(word)")
    }
  }

  @Test(arguments: [0, 1, 2, 86_400])
  func `the size of a page is bounded for any number of seconds`(count: Int) {
    var record = RunRecord(command: "chat", title: "seconds")
    record.series.seconds = (0..<count).map { Double($0 + 1) }
    for name in ["acked_per_second", "ack_p50_ms", "ack_p99_ms", "gateway_resident_bytes"] {
      record.series.columns[name] = (0..<count).map { $0 % 7 == 3 ? nil : Double($0 % 100) }
    }
    let page = Page.text(record)
    #expect(isSound(page))
    #expect(page.utf8.count < 600_000)
  }

  @Test func `records with only zeros and empty records produce pages`() {
    var record = RunRecord(command: "idle", title: "zeros")
    #expect(isSound(Page.text(record)))
    record.series.seconds = [1, 2]
    record.series.columns = [
      "acked_per_second": [0, 0], "ack_p50_ms": [nil, nil], "gateway_cores": [0, nil],
    ]
    record.batches = [.init(from: 1, count: 0)]
    record.set("gateway_cores", 0)
    #expect(isSound(Page.text(record)))
  }

  @Test func `broken promises and unequal counts are highlighted`() {
    var record = RecordTests.sample()
    record.proof = [
      .init(label: "Sent", count: 12, note: ""), .init(label: "Stored", count: 11, note: ""),
    ]
    let page = Page.text(record)
    #expect(page.contains("<div class=\"off\"><dt>Stored"))
    #expect(page.contains("<div class=\"bad\"><dt>duplicated"))
    #expect(!page.contains("<div class=\"bad\"><dt>lost"))
  }

  @Test func `numbers have three significant digits and grouped thousands`() {
    #expect(
      [0, 0.0421, 7.25, 99.96, 118.4, 12_345].map(Format.number)
        == ["0", "0.042", "7.25", "100", "118", "12,345"])
    #expect(
      [0, 0.25, 3.1, 999, 21_000, 200_000].map(Format.milliseconds)
        == ["0 ms", "250 µs", "3.1 ms", "999 ms", "21 s", "3:20 min"])
    #expect([0, 512, 212 * 1_048_576].map(Format.bytes) == ["0 B", "512 B", "212 MiB"])
    #expect([59, 600, 3_661].map(Format.clock) == ["0:59", "10:00", "1:01:01"])
    #expect(Format.count(-1_234_567) == "−1,234,567")
  }

  @Test(arguments: [
    ("ack_p99_ms", "<= 10000", "≤ 10 s"), ("lost", "== 0", "= 0"), ("acked", "> 1500", "> 1,500"),
    ("gateway_growth_bytes", "< 2097152", "< 2 MiB"), ("lost", "!= 1", "≠ 1"),
  ])
  func `a threshold is shown with units`(figure: String, condition: String, words: String) {
    let verdict = RunRecord.ThresholdVerdict(
      figure: figure, condition: condition, value: nil, isKept: false)
    #expect(verdict.words == words)
  }

  @Test func `an outage is detected from the series, and a pause without work is none`() {
    var series = RunRecord.Series()
    series.seconds = [1, 2, 3, 4, 5, 6, 7]
    series.columns["acked_per_second"] = [10, 0, 0, 0, 50, 0, 10]
    series.columns["in_flight"] = [0, 5, 15, 25, 0, 3, 0]
    #expect(series.stalls == [.init(name: "no ack", atSeconds: 1, lastsSeconds: 3)])
    series.columns["in_flight"] = [0, 0, 0, 0, 0, 0, 0]
    #expect(series.stalls.isEmpty)
  }
}

@Suite struct DifferenceTests {
  private func run(_ values: [Double], lost: Int = 0) -> RunRecord {
    var record = RunRecord(command: "chat", title: "run")
    record.series.seconds = values.indices.map { Double($0 + 1) }
    record.series.columns["acked_per_second"] = values
    record.set("acked_per_second", values.reduce(0, +) / Double(max(1, values.count)))
    record.add(["lost": lost])
    return record
  }

  /// Around 100, alternately higher and lower.
  private func noisy(_ mean: Double) -> [Double] {
    (0..<40).map { mean * [0.97, 1.02, 0.99, 1.03, 0.98, 1.01][$0 % 6] }
  }

  @Test func `a difference within the noise does not count, one beyond it has a direction`() {
    func verdict(_ before: Double, _ after: Double) -> Difference.Verdict? {
      Difference(run(noisy(before)), run(noisy(after))).rows
        .first { $0.figure == "acked_per_second" }?.verdict
    }
    #expect(verdict(100, 100.3) == .same)
    #expect(verdict(100, 110) == .better)
    #expect(verdict(100, 90) == .worse)
  }

  @Test func `autocorrelated seconds count as fewer`() throws {
    let steps = (0..<40).map { $0 < 20 ? 90.0 : 110.0 }
    let turns = (0..<40).map { $0 % 2 == 0 ? 90.0 : 110.0 }
    let alike = try #require(Noise.factor(steps, steps))
    let free = try #require(Noise.factor(turns, turns))
    #expect(alike > free)
  }

  @Test func `too few seconds give no estimate`() {
    #expect(Noise.factor([1, 2, 3], noisy(2)) == nil)
    #expect(Noise.factor([0, 1, 1, 1, 1, 1], noisy(2)) == nil)
    let difference = Difference(run([100]), run([120]))
    #expect(difference.rows.first { $0.figure == "acked_per_second" }?.verdict == .other)
  }

  @Test func `one broken promise is never noise`() {
    let difference = Difference(run(noisy(100)), run(noisy(100), lost: 1))
    #expect(difference.rows.first { $0.figure == "lost" }?.verdict == .worse)
    #expect(difference.isWorse)
    #expect(DifferencePage.text(difference).contains("1 worse"))
  }
}

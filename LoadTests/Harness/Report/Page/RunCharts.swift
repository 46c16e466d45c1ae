/// The charts of a run, one for each kind of figure.
struct RunCharts {
  private let record: RunRecord
  private var page = Markup()
  private var series: RunRecord.Series { record.series }

  init(_ record: RunRecord) {
    self.record = record
    if !series.seconds.isEmpty { overTime() }
    percentiles()
    processes()
    comparisons()
    batches()
  }

  var text: String { page.text }

  static func responsive(_ isHalf: Bool = false, _ draw: (ChartSize) -> String) -> String {
    let sizes: [ChartSize] = isHalf ? [.mid, .narrow] : [.wide, .mid, .narrow]
    return "<div class=\"chart\(isHalf ? " half" : "")\">" + sizes.map(draw).joined() + "</div>"
  }

  // MARK: Over time

  private mutating func overTime() {
    let rates = lines(suffix: "_per_second") { Format.short($0) + "/s" }
    let latencies = record.latencyNames
    guard !rates.isEmpty || !latencies.isEmpty else { return }
    page.raw("<section class=\"card panel full\">")
    if !rates.isEmpty {
      page.raw("<h2>Throughput</h2><p>Messages a second; beside the lines the whole run’s.</p>")
      let values = rates.flatMap(\.values).compactMap { $0 }
      let chart = LineChart(
        label: "Throughput over time: " + sentence(rates), seconds: series.seconds, lines: rates,
        events: record.events, scale: .linear(values), format: Format.short, namesEvents: true)
      page.raw(Self.responsive { chart.svg($0) })
    }
    for name in latencies { latency(name) }
    page.raw("</section>\n")
  }

  private mutating func latency(_ name: String) {
    let lines = [("p50", "P50", 1), ("p99", "P99", 2), ("p999", "P99.9", 3)].compactMap {
      key, label, style -> LineChart.Line? in
      guard let values = series.columns["\(name)_\(key)_ms"] else { return nil }
      return LineChart.Line(
        label: label, values: values, style: style,
        figure: record.figures["\(name)_\(key)_ms"].map { Format.milliseconds($0) } ?? "")
    }
    let values = lines.flatMap(\.values).compactMap { $0 }
    guard !values.isEmpty else { return }
    let titles = ["ack": "Latency, send to ack", "delivery": "Latency, send to every subscriber"]
    page.element("h2", "", titles[name] ?? "Latency, \(name.replacing("_", with: " "))")
    page.element(
      "p", "",
      "From the moment a message was due, so waiting counts. Logarithmic; beside the lines the "
        + "whole run's.")
    let chart = LineChart(
      label: "Latency of \(name) over time, logarithmic; whole run: " + sentence(lines),
      seconds: series.seconds, lines: lines, events: record.events, scale: .logarithmic(values),
      height: 180, format: Format.milliseconds)
    page.raw(Self.responsive { chart.svg($0) })
  }

  /// The columns with this suffix, each with its mean as its figure.
  private func lines(suffix: String, _ format: (Double) -> String) -> [LineChart.Line] {
    let order = ["sent", "acked", "delivered"]
    let names = series.columns.keys.filter { $0.hasSuffix(suffix) }.sorted {
      (order.firstIndex(of: String($0.dropLast(suffix.count))) ?? 9, $0)
        < (order.firstIndex(of: String($1.dropLast(suffix.count))) ?? 9, $1)
    }
    // Acknowledged messages are drawn over sent ones.
    let styles = ["sent": 4, "acked": 1, "delivered": 2]
    return names.prefix(4).enumerated().map { index, column in
      let name = String(column.dropLast(suffix.count))
      let values = series.columns[column] ?? []
      let mean = mean(values)
      return LineChart.Line(
        label: name.replacing("_", with: " "), values: values,
        style: styles[name] ?? index % 4 + 1, figure: format(mean))
    }
  }

  /// The mean of a rate, weighted by the length of the seconds.
  private func mean(_ values: [Double?]) -> Double {
    var (sum, whole, last) = (0.0, 0.0, 0.0)
    for (second, value) in zip(series.seconds, values) {
      if let value {
        sum += value * (second - last)
        whole += second - last
      }
      last = second
    }
    return whole > 0 ? sum / whole : 0
  }

  private func sentence(_ lines: [LineChart.Line]) -> String {
    lines.map { "\($0.label) \($0.figure)" }.joined(separator: ", ")
      + (record.events.isEmpty ? "." : "; \(record.events.count) faults are shaded.")
  }

  // MARK: The whole run

  private mutating func percentiles() {
    let names = record.latencies.keys.sorted()
    guard !names.isEmpty else { return }
    let curves = names.prefix(4).enumerated().compactMap { index, name in
      record.latencies[name].map {
        CurveChart.Curve(
          label: name.replacing("_", with: " "), latency: $0, style: index % 4 + 1)
      }
    }
    page.raw("<section class=\"card panel\"><h2>Latency by percentile</h2>")
    let counts = curves.map { "\(Format.count($0.latency.count)) of \($0.label)" }
    page.element("p", "", "The whole run: \(counts.joined(separator: ", ")).")
    let tails = curves.map {
      "\($0.label) p50 \(Format.milliseconds($0.latency.at(50))), p99 "
        + Format.milliseconds($0.latency.at(99))
    }
    let chart = CurveChart(
      label: "Latency by percentile: \(tails.joined(separator: "; ")).", curves: curves)
    page.raw(Self.responsive(true) { chart.svg($0) })
    page.raw("</section>\n")
  }

  private mutating func processes() {
    let memory = single("gateway_resident_bytes", "memory", 1, Format.bytes)
    let cores = [
      single("gateway_cores", "gateway", 1) { Format.number($0) },
      single("generator_cores", "generator", 4) { Format.number($0) },
    ].compactMap { $0 }
    guard memory != nil || !cores.isEmpty else { return }
    page.raw("<section class=\"card panel\">")
    if let memory {
      page.raw("<h2>Memory of the gateway</h2><p>Resident.</p>")
      let chart = LineChart(
        label: "Resident memory of the gateway over time, at the end \(memory.figure).",
        seconds: series.seconds, lines: [memory], events: record.events,
        scale: .binary(memory.values.compactMap { $0 }), height: 84, format: Format.bytes)
      page.raw(Self.responsive(true) { chart.svg($0) })
    }
    if !cores.isEmpty {
      page.raw("<h2>Processor</h2><p>Cores used. A generator whose threads are busy all the time")
      page.raw(" measures itself.</p>")
      let chart = LineChart(
        label: "Cores used over time: " + sentence(cores), seconds: series.seconds, lines: cores,
        events: record.events, scale: .linear(cores.flatMap(\.values).compactMap { $0 }, steps: 3),
        height: 84, format: Format.number)
      page.raw(Self.responsive(true) { chart.svg($0) })
    }
    page.raw("</section>\n")
  }

  private func single(
    _ column: String, _ label: String, _ style: Int, _ format: (Double) -> String
  ) -> LineChart.Line? {
    guard let values = series.columns[column], let last = values.last(where: { $0 != nil })
    else { return nil }
    return LineChart.Line(
      label: label, values: values, style: style, figure: last.map(format) ?? "")
  }

  private mutating func comparisons() {
    guard let first = record.comparisons.first else { return }
    let peers = Set(record.comparisons.map(\.peer))
    let rows = record.comparisons.map { comparison in
      let invert = comparison.isLessBetter
      func factor(_ ratio: Double) -> Double { invert ? 1 / max(ratio, 1e-6) : ratio }
      let isMissed = comparison.goal.map {
        invert ? comparison.ratio > $0 : comparison.ratio < $0
      }
      return RatioChart.Row(
        label: comparison.label, factor: factor(comparison.ratio),
        factorMin: factor(invert ? comparison.ratioMax : comparison.ratioMin),
        factorMax: factor(invert ? comparison.ratioMin : comparison.ratioMax),
        ours: Format.with(comparison.unit, comparison.ours),
        theirs: Format.with(comparison.unit, comparison.theirs),
        style: isMissed ?? (factor(comparison.ratio) < 1) ? 2 : 1)
    }
    let name = peers.count == 1 ? first.peer : "peer"
    page.raw("<section class=\"card panel full\">")
    page.element("h2", "", peers.count == 1 ? "Compared with \(first.peer)" : "Compared")
    page.raw("<p>In the same run, in turns. Bars show the median ratio on a logarithmic axis, also")
    page.raw(" where the peer is better; the thin line is the smallest and the largest round.</p>")
    let words = rows.map { "\($0.label) \(Format.number($0.factor)) times" }
    let chart = RatioChart(
      label: "Ratios: \(words.joined(separator: ", ")).", rows: rows, ourName: "Chirrup",
      theirName: name)
    page.raw(Self.responsive { chart.svg($0) })
    page.raw("</section>\n")
  }

  /// The number of panels of half width.
  static func halves(_ record: RunRecord) -> Int {
    let columns = record.series.columns
    return [
      !record.latencies.isEmpty, hasBatches(record),
      columns["gateway_resident_bytes"] ?? columns["gateway_cores"] ?? columns["generator_cores"]
        != nil,
    ].count { $0 }
  }

  private static func hasBatches(_ record: RunRecord) -> Bool {
    !record.batches.isEmpty || record.series.columns["batch_messages"] != nil
  }

  private mutating func batches() {
    guard Self.hasBatches(record) else { return }
    let mean = record.figures["batch_messages"].map { "On average \(Format.number($0))." } ?? ""
    let buckets = record.batches
    let line = single("batch_messages", "mean", 1) { Format.number($0) }
    page.raw("<section class=\"card panel\"><h2>Messages per commit</h2>")
    page.element("p", "", mean)
    if !buckets.isEmpty {
      let chart = BatchChart(label: "Messages per commit. \(mean)", buckets: buckets)
      page.raw(Self.responsive(true) { chart.svg($0) })
    }
    if let line {
      let chart = LineChart(
        label: "Messages per commit over time. \(mean)", seconds: series.seconds, lines: [line],
        events: record.events, scale: .linear(line.values.compactMap { $0 }, steps: 3),
        height: buckets.isEmpty ? 140 : 64, format: Format.number)
      page.raw(Self.responsive(true) { chart.svg($0) })
    }
    page.raw("</section>\n")
  }
}

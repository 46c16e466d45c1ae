/// A comparison as a page of the same kind as a report.
struct DifferencePage {
  private var page = Markup()
  private let difference: Difference
  private var before: RunRecord { difference.before }
  private var after: RunRecord { difference.after }

  static func text(_ difference: Difference) -> String {
    var page = DifferencePage(difference: difference)
    page.write()
    return page.page.text
  }

  private init(difference: Difference) { self.difference = difference }

  private mutating func write() {
    page.raw(Page.head(title: "\(before.title), before and after"))
    page.raw("<body>\n<main>\n<header>\(Page.swift)<div>")
    page.element("h1", "", "\(after.title), before and after")
    page.element("p", "", "Before: \(name(before))")
    page.element("p", "", "After: \(name(after))")
    page.raw("</div>")
    verdict()
    page.raw("</header>\n")
    cautions()
    page.raw("<div class=\"grid\">\n")
    ratios()
    overTime()
    curves()
    figures()
    page.raw("</div>\n</main>\n</body>\n</html>\n")
  }

  private func name(_ record: RunRecord) -> String {
    [
      Format.date(record.meta.startedAt), record.meta.commit, record.meta.gatewayVersion,
      record.verdict.words.lowercased(),
    ].compactMap { $0 }.joined(separator: " · ")
  }

  private mutating func verdict() {
    let worse = difference.rows.count { $0.verdict == .worse }
    let better = difference.rows.count { $0.verdict == .better }
    let words = [worse > 0 ? "\(worse) worse" : "", better > 0 ? "\(better) better" : ""]
      .filter { !$0.isEmpty }.joined(separator: ", ")
    page.raw("<span class=\"verdict\(worse > 0 ? " warn" : "")\">")
    page.raw(worse > 0 ? Page.cross : Page.check)
    page.raw("\(words.isEmpty ? "Within noise" : words)</span>")
  }

  private mutating func cautions() {
    guard !difference.cautions.isEmpty else { return }
    page.raw("<section class=\"card panel\"><h2>What makes them hard to compare</h2><ul>")
    for caution in difference.cautions { page.element("li", "", caution) }
    page.raw("</ul></section>\n")
  }

  private mutating func ratios() {
    let rows = difference.rows.compactMap { row -> RatioChart.Row? in
      guard let ratio = row.ratio, let noise = row.noise,
        let better = Figure.named(row.figure)?.better, better != .neither
      else { return nil }
      let factor = better == .less ? 1 / ratio : ratio
      return RatioChart.Row(
        label: row.label, factor: factor, factorMin: factor / noise, factorMax: factor * noise,
        ours: Format.figure(row.figure, row.after), theirs: Format.figure(row.figure, row.before),
        style: row.verdict == .better ? 1 : row.verdict == .worse ? 2 : 4)
    }
    guard !rows.isEmpty else { return }
    page.raw("<section class=\"card panel full\"><h2>What changed</h2><p>Bars to the right are")
    page.raw(" better. The thin line is the noise; where it crosses “equal”, the bar")
    page.raw(" is grey and the difference is not significant.</p>")
    let words = rows.map { "\($0.label) \(Format.number($0.factor)) times" }
    let chart = RatioChart(
      label: "After against before: \(words.joined(separator: ", ")).", rows: rows,
      ourName: "after", theirName: "before")
    page.raw(RunCharts.responsive { chart.svg($0) })
    page.raw("</section>\n")
  }

  private mutating func overTime() {
    let charts: [(String, String, (Double) -> String)] = [
      ("acked_per_second", "Acknowledged per second", Format.short),
      ("ack_p99_ms", "Latency to the ack, P99 of each second", Format.milliseconds),
    ]
    for (column, title, format) in charts {
      guard let old = before.series.columns[column], let new = after.series.columns[column]
      else { continue }
      // The time axis of the longer run; the other ends earlier.
      let longer = [before, after].max { $0.series.seconds.count < $1.series.seconds.count }
      let seconds = longer?.series.seconds ?? []
      func fill(_ values: [Double?]) -> [Double?] {
        values + Array(repeating: nil, count: max(0, seconds.count - values.count))
      }
      let values = (old + new).compactMap { $0 }
      let isLatency = column.hasSuffix("_ms")
      func figure(_ record: RunRecord) -> String {
        record.figures[column].map { isLatency ? format($0) : format($0) + "/s" } ?? ""
      }
      let lines = [
        LineChart.Line(label: "before", values: fill(old), style: 4, figure: figure(before)),
        LineChart.Line(label: "after", values: fill(new), style: 1, figure: figure(after)),
      ]
      page.raw("<section class=\"card panel full\">")
      page.element("h2", "", title)
      let sentence = lines.map(\.words).joined(separator: ", ")
      let chart = LineChart(
        label: "\(title): \(sentence).", seconds: seconds, lines: lines,
        scale: isLatency ? .logarithmic(values) : .linear(values), format: format)
      page.raw(RunCharts.responsive { chart.svg($0) })
      page.raw("</section>\n")
    }
  }

  private mutating func curves() {
    for name in before.latencies.keys.sorted() {
      guard let old = before.latencies[name], let new = after.latencies[name] else { continue }
      page.raw("<section class=\"card panel\">")
      page.element("h2", "", "Percentiles, \(name.replacing("_", with: " "))")
      let chart = CurveChart(
        label: "Percentiles of \(name): p99 \(Format.milliseconds(old.at(99))) before, "
          + "\(Format.milliseconds(new.at(99))) after.",
        curves: [
          .init(label: "after", latency: new, style: 1),
          .init(label: "before", latency: old, style: 4),
        ])
      page.raw(RunCharts.responsive(true) { chart.svg($0) })
      page.raw("</section>\n")
    }
  }

  private mutating func figures() {
    page.raw("<section class=\"card panel full\"><h2>All figures</h2>")
    page.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All figures\">")
    page.raw("<table><thead><tr>")
    for head in ["Figure", "Before", "After", "Ratio", "Noise", "Verdict"] {
      page.element("th", "scope=\"col\"", head)
    }
    page.raw("</tr></thead><tbody>")
    for row in difference.rows {
      page.raw("<tr>")
      page.element("th", "scope=\"row\"", row.label)
      page.element("td", "", Format.figure(row.figure, row.before))
      page.element("td", "", Format.figure(row.figure, row.after))
      page.element("td", "", row.ratioText)
      page.element("td", "", row.noiseText)
      let style =
        switch row.verdict {
        case .better: ""
        case .worse: " bad"
        case .other, .same, .equal: " calm"
        }
      page.raw("<td><span class=\"state\(style)\">\(row.verdict.rawValue)</span></td></tr>")
    }
    page.raw("</tbody></table></div></section>\n")
  }
}

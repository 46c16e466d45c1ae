/// A report as one HTML page without scripts and other files, for light and dark, phones and paper.
/// It begins with the proof and the verdict; missed thresholds come before the charts.
import Foundation

struct Page {
  private var page = Markup()
  private let record: RunRecord

  static func text(_ record: RunRecord) -> String {
    var page = Page(record: record)
    page.write()
    return page.page.text
  }

  private init(record: RunRecord) { self.record = record }

  private mutating func write() {
    page.raw(Page.head(title: "\(record.title): \(record.verdict.words)"))
    page.raw("<body>\n<main>\n")
    header()
    proof()
    tiles()
    problems()
    page.raw("<div class=\"grid\">\n")
    thresholds()
    page.raw(RunCharts(record).text)
    happened()
    setup()
    figures()
    seconds()
    page.raw("</div>\n")
    page.raw("</main>\n</body>\n</html>\n")
  }

  static func head(title: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>\(Markup.escaped(title))</title>
    <style>
    \(Style.text)</style>
    </head>

    """
  }

  /// The product's mark.
  static let swift = """
    <svg viewBox="0 0 24 24" aria-hidden="true"><path fill="currentColor" \
    transform="rotate(42 12 12)" d="M12 3.3c.8 0 1.5.6 1.8 1.7 5 .2 9.2 4.3 9.9 12-2.6-4.6-5.8-6.5\
    -9.3-6.6-.2 2.3-.7 4.3-1.3 6l1.5 6.1-2.6-2.6-2.6 2.6 1.5-6.1c-.6-1.7-1.1-3.7-1.3-6-3.5.1-6.7 2\
    -9.3 6.6C1 9.3 5.2 5.2 10.2 5c.3-1.1 1-1.7 1.8-1.7z"/></svg>
    """

  static func icon(_ path: String) -> String {
    "<svg class=\"icon\" viewBox=\"0 0 20 20\" aria-hidden=\"true\"><path d=\"\(path)\"/></svg>"
  }

  static let check = icon("M4.5 10.5l3.6 3.6 7.4-8")
  static let cross = icon("M5.5 5.5l9 9M14.5 5.5l-9 9")

  // MARK: The verdict

  private mutating func header() {
    let meta = record.meta
    let facts = [
      Format.date(meta.startedAt),
      meta.gatewayVersion.map { "chirrup \($0)" + (meta.commit.map { " (\($0))" } ?? "") }
        ?? meta.commit,
      meta.seed.map { "seed \($0)" },
      meta.loadSeconds > 0 ? "load of \(Format.seconds(meta.loadSeconds))" : nil,
    ].compactMap { $0 }.joined(separator: " · ")
    page.raw("<header>\(Page.swift)<div>")
    page.element("h1", "", record.title)
    page.element("p", "", facts)
    let style = record.verdict == .failed ? " bad" : record.verdict == .missed ? " warn" : ""
    page.raw("</div><span class=\"verdict\(style)\">")
    page.raw(record.verdict == .passed ? Page.check : Page.cross)
    page.raw("\(record.verdict.words)</span></header>\n")
  }

  private mutating func proof() {
    guard !record.proof.isEmpty || !record.invariants.isEmpty else { return }
    page.raw("<div class=\"card\">")
    if let first = record.proof.first {
      page.raw("<dl class=\"proof\">")
      for step in record.proof {
        page.raw(step.count == first.count ? "<div>" : "<div class=\"off\">")
        page.element("dt", "", step.label)
        page.element("dd", "", Format.count(step.count))
        page.element("dd", "", step.note)
        page.raw("</div>")
      }
      page.raw("</dl>")
    }
    if !record.invariants.isEmpty {
      page.raw("<dl class=\"zeros\">")
      for (name, meaning) in record.invariantMeanings {
        let count = record.invariants[name] ?? 0
        page.raw(count == 0 ? "<div>" : "<div class=\"bad\">")
        page.element("dt", "", name)
        page.element("dd", "", Format.count(count))
        page.element("dd", "", meaning)
        page.raw("</div>")
      }
      page.raw("</dl>")
    }
    page.raw("</div>\n")
  }

  /// The main figures of a run without a proof.
  private mutating func tiles() {
    let names = record.headlines
    guard !names.isEmpty else { return }
    page.raw("<dl class=\"card tiles\">")
    for name in names {
      page.raw("<div>")
      page.element("dt", "", Figure.named(name)?.label ?? name)
      page.element("dd", "", Format.figure(name, record.figures[name] ?? 0))
      page.raw("</div>")
    }
    page.raw("</dl>\n")
  }

  private mutating func problems() {
    guard !record.problems.isEmpty else { return }
    page.raw("<section class=\"card panel bad\"><h2>What went wrong</h2><ul>")
    for problem in record.problems.prefix(50) { page.element("li", "", problem) }
    if record.problems.count > 50 {
      page.element("li", "", "and \(record.problems.count - 50) more, see the JSON")
    }
    page.raw("</ul></section>\n")
  }

  private mutating func thresholds() {
    guard !record.thresholds.isEmpty else { return }
    let missed = record.thresholds.count { !$0.isKept }
    page.raw("<section class=\"card panel full\"><h2>Thresholds</h2>")
    page.element(
      "p", "", missed == 0 ? "All kept." : "\(missed) of \(record.thresholds.count) missed.")
    page.raw("<table><thead><tr><th scope=\"col\">Figure</th><th scope=\"col\">Wanted</th>")
    page.raw("<th scope=\"col\">Measured</th><th scope=\"col\">Verdict</th></tr></thead><tbody>")
    for threshold in record.thresholds.sorted(by: { !$0.isKept && $1.isKept }) {
      page.raw("<tr>")
      page.element(
        "th", "scope=\"row\"", Figure.named(threshold.figure)?.label ?? threshold.figure)
      page.element("td", "", threshold.words)
      page.element(
        "td", "", threshold.value.map { Format.figure(threshold.figure, $0) } ?? "not measured")
      page.raw(
        threshold.isKept
          ? "<td><span class=\"state\">\(Page.check)kept</span></td></tr>"
          : "<td><span class=\"state bad\">\(Page.cross)missed</span></td></tr>")
    }
    page.raw("</tbody></table></section>\n")
  }

  // MARK: Circumstances

  private var hasHappened: Bool { !record.outcomes.isEmpty || !record.events.isEmpty }

  /// Incidents by code, and faults with their times.
  private mutating func happened() {
    guard hasHappened else { return }
    page.raw("<section class=\"card panel\"><h2>What happened</h2>")
    page.raw("<p>Faults that were seen or made, and how clients felt them.</p><dl class=\"env\">")
    for event in record.events.prefix(20) {
      page.element("dt", "", "at \(Format.clock(event.atSeconds))")
      page.element("dd", "", event.words)
    }
    if record.events.count > 20 {
      page.element("dt", "", "later")
      page.element("dd", "", "\(record.events.count - 20) more, see the JSON")
    }
    for (kind, counts) in record.outcomes.sorted(by: { $0.key < $1.key }) {
      page.element("dt", "", kind)
      page.element(
        "dd", "",
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
          .map { "\(Format.count($0.value)) × \($0.key)" }.joined(separator: ", "))
    }
    page.raw("</dl></section>\n")
  }

  private mutating func setup() {
    let meta = record.meta
    // Two panels share a row; an odd one takes the whole width.
    let halves = RunCharts.halves(record) + (hasHappened ? 1 : 0)
    let width = halves % 2 == 1 ? "" : " full"
    page.raw("<section class=\"card panel\(width)\"><h2>Repeat it</h2>")
    page.raw("<p>What was run, and on what.</p><dl class=\"env\">")
    let memory = Format.bytes(Double(meta.memoryBytes))
    let machine: [(String, String?)] = [
      ("Machine", "\(meta.cores) cores, \(meta.machine), \(memory)"),
      ("System", "\(meta.system), \(meta.kernel)"), ("Gateway", meta.gatewayVersion),
      ("Built from", meta.commit), ("PostgreSQL", meta.postgresVersion),
    ]
    for (label, value) in record.setup.map({ ($0.label, Optional($0.value)) }) + machine {
      guard let value else { continue }
      page.element("dt", "", label)
      page.element("dd", "", value)
    }
    page.raw("</dl>")
    page.element("pre", "", meta.commandLine.wrapped)
    page.raw("</section>\n")
  }

  private mutating func figures() {
    let known = Figure.all.filter { record.figures[$0.name] != nil }
    let names =
      known.map(\.name) + record.figures.keys.filter { Figure.named($0) == nil }.sorted()
    page.raw("<section class=\"card panel full\"><details><summary>All figures</summary>")
    page.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All figures\">")
    page.raw("<table><thead><tr><th scope=\"col\">Figure</th><th scope=\"col\">Name</th>")
    page.raw("<th scope=\"col\">Value</th></tr></thead><tbody>")
    for name in names {
      page.raw("<tr>")
      page.element("th", "scope=\"row\"", Figure.named(name)?.label ?? name)
      page.element("td", "", name)
      page.element("td", "", Format.figure(name, record.figures[name] ?? 0))
      page.raw("</tr>")
    }
    page.raw("</tbody></table></div></details></section>\n")
  }

  /// The charts' values as a table of limited length.
  private mutating func seconds() {
    let series = record.series
    let columns = series.columns.keys.sorted()
    guard !series.seconds.isEmpty, !columns.isEmpty else { return }
    let rows = min(60, series.seconds.count)
    page.raw("<section class=\"card panel full\"><details><summary>Figures over time</summary>")
    page.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" ")
    page.raw("aria-label=\"Figures over time\"><table><thead><tr><th scope=\"col\">Time</th>")
    for name in columns {
      page.element("th", "scope=\"col\"", name.replacing("_", with: " "))
    }
    page.raw("</tr></thead><tbody>")
    for row in 0..<rows {
      // The last second of each part.
      let index = series.seconds.count * (row + 1) / rows - 1
      page.raw("<tr>")
      page.element("th", "scope=\"row\"", Format.clock(series.seconds[index]))
      for name in columns {
        let value = series.columns[name].flatMap { $0[index] }
        page.element("td", "", value.map { Format.column(name, $0) } ?? "–")
      }
      page.raw("</tr>")
    }
    page.raw("</tbody></table></div></details></section>\n")
  }
}

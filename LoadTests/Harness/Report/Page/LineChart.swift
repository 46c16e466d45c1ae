/// Lines over time as SVG: gaps for missing values, shaded faults, and a name at the end of each
/// line.
struct LineChart {
  struct Line {
    var label: String
    var values: [Double?]
    /// 1 to 4: a colour of the style.
    var style: Int
    /// The figure of the whole run, after the label.
    var figure: String = ""

    var words: String { figure.isEmpty ? label : "\(label) \(figure)" }
  }

  /// A sentence for screen readers.
  var label: String
  var seconds: [Double]
  var lines: [Line]
  var events: [RunRecord.Event] = []
  var scale: Scale
  var height = 140.0
  var format: (Double) -> String
  /// Shows the names of faults above the plot; otherwise they are only shaded.
  var namesEvents = false

  private static let hitsMax = 120
  private static let eventsMax = 300

  func svg(_ size: ChartSize) -> String {
    let frame = Frame(chart: self, size: size)
    var text = frame.opening(label)
    text += eventMarks(frame)
    text += axes(frame)
    for line in lines { text += path(line, frame) }
    text += labels(frame)
    text += hits(frame)
    return text + "</svg>"
  }

  private var end: Double { max(seconds.last ?? 0, 1) }

  // MARK: Marks

  private func axes(_ frame: Frame) -> String {
    var text = ""
    for tick in scale.ticks {
      let y = frame.y(tick)
      let style = tick == scale.ticks.first ? "base" : "grid-line"
      text +=
        "<line class=\"\(style)\" x1=\"\(point(frame.left))\" x2=\"\(point(frame.right))\""
        + " y1=\"\(point(y))\" y2=\"\(point(y))\"/>"
      text +=
        "<text x=\"\(point(frame.left - 8))\" y=\"\(point(y + 4))\" text-anchor=\"end\">"
        + Markup.escaped(format(tick)) + "</text>"
    }
    for moment in Scale.moments(until: end, atMost: frame.size.momentsMax) {
      text +=
        "<text x=\"\(point(frame.x(moment)))\" y=\"\(point(frame.bottom + 16))\""
        + " text-anchor=\"middle\">\(Format.clock(moment))</text>"
    }
    return text
  }

  private func path(_ line: Line, _ frame: Frame) -> String {
    var text = ""
    var dots = ""
    var run: [String] = []
    func close() {
      // A value between two gaps becomes a dot.
      if run.count == 1, let only = run.first {
        let place = only.split(separator: " ")
        dots += "<circle class=\"f\(line.style)\" cx=\"\(place[0])\" cy=\"\(place[1])\" r=\"2.5\"/>"
      } else if !run.isEmpty {
        text += "M" + run.joined(separator: "L")
      }
      run = []
    }
    for (x, y) in downsampled(seconds, line.values, buckets: Int(frame.right - frame.left) / 2) {
      if let y {
        run.append("\(point(frame.x(x))) \(point(frame.y(y)))")
      } else {
        close()
      }
    }
    close()
    return (text.isEmpty ? "" : "<path class=\"line s\(line.style)\" d=\"\(text)\"/>") + dots
  }

  private func eventMarks(_ frame: Frame) -> String {
    var text = ""
    var labelEnds = -Double.infinity
    for event in events.prefix(LineChart.eventsMax) where event.atSeconds <= end {
      let left = frame.x(max(0, event.atSeconds))
      let width = max(2, frame.x(min(end, event.atSeconds + event.lastsSeconds)) - left)
      text +=
        "<rect class=\"fault\" x=\"\(point(left))\" y=\"\(point(frame.top))\""
        + " width=\"\(point(width))\" height=\"\(point(frame.bottom - frame.top))\"/>"
      guard namesEvents else { continue }
      let name = event.words
      let half = Double(name.count) * 3.1
      let middle = min(max(left + width / 2, frame.left + half), frame.right - half)
      // Where two labels would overlap, the second is only in the tooltip and the table of events.
      if middle - half > labelEnds + 8, half * 2 < frame.right - frame.left {
        labelEnds = middle + half
        text +=
          "<text class=\"strong\" x=\"\(point(middle))\" y=\"\(point(frame.top - 8))\""
          + " text-anchor=\"middle\">\(Markup.escaped(name))</text>"
      }
    }
    return text
  }

  /// At the ends of the lines without overlap; on a narrow chart above them.
  private func labels(_ frame: Frame) -> String {
    var text = ""
    if frame.size == .narrow { return frame.legend.svg }
    let ends = lines.map { line in
      line.values.last { $0 != nil }.flatMap { $0 }.map { frame.y($0) } ?? frame.bottom
    }
    let places = apart(ends, by: 14, within: frame.top + 4...max(frame.top + 4, frame.bottom))
    for (index, line) in lines.enumerated() {
      text +=
        "<circle class=\"f\(line.style) ring\" cx=\"\(point(frame.right))\""
        + " cy=\"\(point(ends[index]))\" r=\"4\"/>"
      text +=
        "<text class=\"f\(line.style)\" x=\"\(point(frame.right + 10))\""
        + " y=\"\(point(places[index] + 4))\">\(Markup.escaped(line.words))</text>"
    }
    return text
  }

  /// Invisible columns with tooltips.
  private func hits(_ frame: Frame) -> String {
    let count = min(seconds.count, LineChart.hitsMax, max(1, Int(frame.right - frame.left) / 6))
    guard count > 0 else { return "" }
    var text = "<g class=\"hits\">"
    for hit in 0..<count {
      let index = seconds.count * hit / count
      let next = seconds.count * (hit + 1) / count
      let left = frame.x(index == 0 ? 0 : seconds[index - 1])
      let right = frame.x(seconds[max(index, next - 1)])
      let words = lines.map { line in
        let values = line.values[index..<max(index + 1, next)].compactMap { $0 }
        guard let least = values.min(), let most = values.max() else { return "\(line.label) –" }
        return "\(line.label) "
          + (least == most ? format(most) : "\(format(least)) to \(format(most))")
      }
      let at = seconds[max(index, next - 1)]
      let fault = events.first { $0.atSeconds < at && at <= $0.atSeconds + $0.lastsSeconds + 1 }
      let title = ([Format.clock(at)] + words + [fault?.words].compactMap { $0 })
        .joined(separator: "\n")
      text +=
        "<rect x=\"\(point(left))\" y=\"\(point(frame.top))\""
        + " width=\"\(point(max(1, right - left)))\" height=\"\(point(frame.bottom - frame.top))\">"
        + "<title>\(Markup.escaped(title))</title></rect>"
    }
    return text + "</g>"
  }

  // MARK: Geometry

  private struct Frame {
    let size: ChartSize
    let left: Double
    let right: Double
    let top: Double
    let bottom: Double
    let end: Double
    let scale: Scale
    let legend: Legend

    init(chart: LineChart, size: ChartSize) {
      self.size = size
      let longest = chart.scale.ticks.map { chart.format($0).count }.max() ?? 0
      left = max(size.gutters.left, Double(longest) * 6 + 14)
      let labels = chart.lines.map(\.words.count).max() ?? 0
      right =
        size.width
        - max(size.gutters.right, size == .narrow ? 0 : Double(labels) * 6.3 + 18)
      legend = Legend(chart.lines.map { ($0.words, $0.style) }, width: size.width)
      top = (size == .narrow ? legend.height + 10 : 10) + (chart.namesEvents ? 16 : 0)
      bottom = top + chart.height
      end = chart.end
      scale = chart.scale
    }

    func x(_ seconds: Double) -> Double { left + (right - left) * min(1, seconds / end) }
    func y(_ value: Double) -> Double { bottom - (bottom - top) * scale.fraction(value) }

    func opening(_ label: String) -> String {
      size.opening(height: bottom + 24, label: label)
    }
  }
}

/// Moves values apart that are closer than `gap`, and keeps their order and the bounds.
func apart(_ places: [Double], by gap: Double, within bounds: ClosedRange<Double>) -> [Double] {
  // Of equal values the later one is higher; for percentiles that is the larger.
  let order = places.indices.sorted { (places[$0], -$0) < (places[$1], -$1) }
  var result = places
  var least = bounds.lowerBound
  for index in order {
    result[index] = max(places[index], least)
    least = result[index] + gap
  }
  var most = bounds.upperBound
  for index in order.reversed() {
    result[index] = min(result[index], most)
    most = result[index] - gap
  }
  return result
}

/// Names of lines above a narrow chart, in as many rows as needed.
struct Legend {
  private(set) var svg = ""
  private(set) var height = 16.0

  init(_ entries: [(words: String, style: Int)], width: Double) {
    var x = 0.0
    for (words, style) in entries {
      let size = 26 + Double(words.count) * 6.6
      if x > 0, x + size > width {
        x = 0
        height += 16
      }
      svg +=
        "<circle class=\"f\(style)\" cx=\"\(point(x + 4))\" cy=\"\(point(height - 8))\" r=\"4\"/>"
        + "<text class=\"f\(style)\" x=\"\(point(x + 12))\" y=\"\(point(height - 4))\">"
        + Markup.escaped(words) + "</text>"
      x += size
    }
  }
}

/// A chart is drawn for each width, and the style shows the matching one, so that text is not
/// scaled.
enum ChartSize: String, CaseIterable {
  case wide, mid, narrow

  var width: Double {
    switch self {
    case .wide: 1158
    case .mid: 546
    case .narrow: 318
    }
  }

  /// Room for the numbers at the axis and the names at the ends, equal for charts above each other.
  var gutters: (left: Double, right: Double) {
    switch self {
    case .wide: (62, 122)
    case .mid: (56, 116)
    case .narrow: (44, 12)
    }
  }

  var momentsMax: Int {
    switch self {
    case .wide: 10
    case .mid: 6
    case .narrow: 4
    }
  }

  func opening(height: Double, label: String) -> String {
    "<svg class=\"\(rawValue)\" width=\"\(point(width))\" height=\"\(point(height))\""
      + " viewBox=\"0 0 \(point(width)) \(point(height))\" role=\"img\""
      + " aria-label=\"\(Markup.escaped(label))\">"
  }
}

extension RunRecord.Event {
  var words: String {
    lastsSeconds > 0 ? "\(name), \(Format.seconds(lastsSeconds))" : name
  }
}

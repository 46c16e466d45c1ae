/// Latency by percentile: each further nine takes the same width, so that the tail is visible.
import Foundation

struct CurveChart {
  struct Curve {
    var label: String
    var latency: LatencyRecord
    var style: Int
  }

  var label: String
  var curves: [Curve]
  var height = 190.0

  private static let marked: [Double] = [50, 99, 99.9, 99.99]

  func svg(_ size: ChartSize) -> String {
    let values = curves.flatMap(\.latency.milliseconds)
    let scale = Scale.logarithmic(values)
    // 0, 90, 99, …: as many nines as the largest count supports.
    let count = curves.map(\.latency.count).max() ?? 0
    let nines = max(2, min(6, Int(log10(Double(max(1, count))).rounded(.up))))
    let longest = scale.ticks.map { Format.milliseconds($0).count }.max() ?? 0
    let left = Double(longest) * 6 + 14
    let right = size.width - (size == .narrow ? 16 : 76)
    let legend = Legend(curves.map { ($0.label, $0.style) }, width: size.width)
    let top = size == .narrow ? legend.height + 10 : 10
    let bottom = top + height
    func x(_ percentile: Double) -> Double {
      let part =
        percentile >= 100 ? Double(nines) : min(Double(nines), -log10(1 - percentile / 100))
      return left + (right - left) * part / Double(nines)
    }
    func y(_ value: Double) -> Double { bottom - height * scale.fraction(value) }

    var text = size.opening(height: bottom + 42, label: label)
    for tick in scale.ticks {
      let style = tick == scale.ticks.first ? "base" : "grid-line"
      text +=
        "<line class=\"\(style)\" x1=\"\(point(left))\" x2=\"\(point(right))\""
        + " y1=\"\(point(y(tick)))\" y2=\"\(point(y(tick)))\"/>"
        + "<text x=\"\(point(left - 8))\" y=\"\(point(y(tick) + 4))\" text-anchor=\"end\">"
        + "\(Markup.escaped(Format.milliseconds(tick)))</text>"
    }
    for nine in 0...nines {
      let place = left + (right - left) * Double(nine) / Double(nines)
      text +=
        "<line class=\"grid-line\" x1=\"\(point(place))\" x2=\"\(point(place))\""
        + " y1=\"\(point(top))\" y2=\"\(point(bottom))\"/>"
        + "<text x=\"\(point(place))\" y=\"\(point(bottom + 16))\" text-anchor=\"middle\">"
        + "\(CurveChart.name(nine))</text>"
    }
    text +=
      "<text x=\"\(point(left))\" y=\"\(point(bottom + 36))\">"
      + "percentile, logarithmic towards 100</text>"
    var ends: [Double] = []
    for curve in curves {
      let path = zip(curve.latency.percentiles, curve.latency.milliseconds).enumerated().map {
        "\($0.offset == 0 ? "M" : "L")\(point(x($0.element.0))) \(point(y($0.element.1)))"
      }.joined()
      text += "<path class=\"line s\(curve.style)\" d=\"\(path)\"/>"
      ends.append(y(curve.latency.maxMilliseconds))
    }
    text += dots(x, y, bottom)
    let places = apart(ends, by: 14, within: top + 4...max(top + 4, bottom))
    if size == .narrow { return text + legend.svg + "</svg>" }
    for (index, curve) in curves.enumerated() {
      text +=
        "<circle class=\"f\(curve.style) ring\" cx=\"\(point(right))\""
        + " cy=\"\(point(ends[index]))\" r=\"4\"/>"
        + "<text class=\"f\(curve.style)\" x=\"\(point(right + 10))\""
        + " y=\"\(point(places[index] + 4))\">\(Markup.escaped(curve.label))</text>"
    }
    return text + "</svg>"
  }

  /// Dots at the usual percentiles of every curve; with numbers on the first.
  private func dots(
    _ x: (Double) -> Double, _ y: (Double) -> Double, _ bottom: Double
  ) -> String {
    var text = ""
    for (index, curve) in curves.enumerated() {
      for percentile in CurveChart.marked
      where Double(curve.latency.count) * (100 - percentile) >= 100 {
        let value = curve.latency.at(percentile)
        text +=
          "<circle class=\"f\(curve.style) ring\" cx=\"\(point(x(percentile)))\""
          + " cy=\"\(point(y(value)))\" r=\"4\"><title>\(Markup.escaped(curve.label)), p"
          + "\(shortest(percentile)): \(Format.milliseconds(value))</title></circle>"
        if index == 0 {
          let below = min(y(value) + 18, bottom - 4)
          text +=
            "<text class=\"strong\" x=\"\(point(x(percentile) + 6))\""
            + " y=\"\(point(below))\">\(Format.milliseconds(value))</text>"
        }
      }
    }
    return text
  }

  /// 0, 90, 99, 99.9, …
  private static func name(_ nines: Int) -> String {
    switch nines {
    case 0: "0"
    case 1: "90"
    case 2: "99"
    default: "99." + String(repeating: "9", count: nines - 2)
    }
  }
}

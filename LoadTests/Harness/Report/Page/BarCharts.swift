/// Bar charts: batch sizes, and ratios to a peer.
import Foundation

struct BatchChart {
  var label: String
  var buckets: [RunRecord.BatchBucket]
  var height = 170.0

  func svg(_ size: ChartSize) -> String {
    let total = Double(max(1, buckets.reduce(0) { $0 + $1.count }))
    let shares = buckets.map { Double($0.count) / total }
    let scale = Scale.linear(shares)
    let (left, right, top) = (44.0, size.width - 4, 24.0)
    let bottom = top + height
    let step = min(80, (right - left) / Double(max(1, buckets.count)))
    let isTight = step < 34
    let most = shares.max()
    var text = size.opening(height: bottom + 44, label: label)
    for tick in scale.ticks {
      let y = bottom - height * scale.fraction(tick)
      text +=
        "<line class=\"\(tick == 0 ? "base" : "grid-line")\" x1=\"\(point(left))\""
        + " x2=\"\(point(right))\" y1=\"\(point(y))\" y2=\"\(point(y))\"/>"
        + "<text x=\"\(point(left - 8))\" y=\"\(point(y + 4))\" text-anchor=\"end\">"
        + "\(Format.percent(tick))</text>"
    }
    for (index, bucket) in buckets.enumerated() {
      let x = left + step * Double(index)
      let size = bucket.count == 0 ? 0 : max(1, height * scale.fraction(shares[index]))
      let name =
        index + 1 < buckets.count && buckets[index + 1].from - 1 > bucket.from
        ? "\(bucket.from) to \(buckets[index + 1].from - 1)" : "\(bucket.from)"
      text +=
        "<rect class=\"f1\" x=\"\(point(x + step * 0.1))\" y=\"\(point(bottom - size))\""
        + " width=\"\(point(step * 0.8))\" height=\"\(point(size))\" rx=\"2\">"
        + "<title>\(name) messages: \(Format.count(bucket.count)) commits, "
        + "\(Format.percent(shares[index]))</title></rect>"
      if bucket.count > 0, !isTight || shares[index] == most {
        text +=
          "<text\(shares[index] == most ? " class=\"strong\"" : "")"
          + " x=\"\(point(x + step / 2))\" y=\"\(point(bottom - size - 6))\""
          + " text-anchor=\"middle\">\(Format.percent(shares[index]))</text>"
      }
      if !isTight || index % 2 == 0 {
        text +=
          "<text x=\"\(point(x + step / 2))\" y=\"\(point(bottom + 16))\""
          + " text-anchor=\"middle\">\(bucket.from)</text>"
      }
    }
    text +=
      "<text x=\"\(point(left))\" y=\"\(point(bottom + 38))\">"
      + "messages per commit, from this number up to the next</text>"
    return text + "</svg>"
  }
}

/// Ratios on a logarithmic axis around "equal": better to the right, worse to the left.
struct RatioChart {
  struct Row {
    var label: String
    /// How many times better than the peer; below 1 is worse.
    var factor: Double
    var factorMin: Double
    var factorMax: Double
    var ours: String
    var theirs: String
    /// Colour by significance and by the goal.
    var style: Int
  }

  var label: String
  var rows: [Row]
  var ourName: String
  var theirName: String

  func svg(_ size: ChartSize) -> String {
    let isNarrow = size == .narrow
    let names = isNarrow ? 0 : min(320, 24 + (rows.map(\.label.count).max() ?? 0) * 7)
    let left = isNarrow ? 8 : Double(names)
    let right = size.width - (isNarrow ? 8 : 170)
    let all = rows.flatMap { [$0.factor, $0.factorMin, $0.factorMax] }.filter { $0 > 0 }
    // Powers of two, one more on both sides for the numbers beside the bars.
    let worst = max(-8, floor(log2(all.min() ?? 1) - 0.3))
    let best = min(8, ceil(log2(all.max() ?? 1) + 0.5))
    let (low, high) = (min(-1, worst), max(1, best))
    func x(_ factor: Double) -> Double {
      left + (right - left) * (min(max(log2(max(factor, 1e-6)), low), high) - low) / (high - low)
    }
    let step = isNarrow ? 58.0 : 40
    let bottom = 28 + step * Double(rows.count)
    var text = size.opening(height: bottom + 6, label: label)
    let every = max(1, ((high - low) / (isNarrow ? 3 : 6)).rounded(.up))
    for power in stride(from: low, through: high, by: 1)
    where power.truncatingRemainder(dividingBy: every) == 0 {
      let place = x(pow(2, power))
      let name =
        power == 0
        ? "equal" : "\(shortest(pow(2, abs(power)))) × \(power > 0 ? "better" : "worse")"
      text +=
        "<line class=\"\(power == 0 ? "base" : "grid-line")\" x1=\"\(point(place))\""
        + " x2=\"\(point(place))\" y1=\"22\" y2=\"\(point(bottom))\"/>"
        + "<text x=\"\(point(place))\" y=\"14\" text-anchor=\""
        + (power == low ? "start" : power == high ? "end" : "middle") + "\">\(name)</text>"
    }
    if !isNarrow {
      text +=
        "<text x=\"\(point(right + 84))\" y=\"14\" text-anchor=\"end\">"
        + "\(Markup.escaped(ourName))</text>"
        + "<text x=\"\(point(right + 166))\" y=\"14\" text-anchor=\"end\">"
        + "\(Markup.escaped(theirName))</text>"
    }
    for (index, row) in rows.enumerated() {
      text += bar(row, at: 28 + step * Double(index), x, right, isNarrow)
    }
    return text + "</svg>"
  }

  private func bar(
    _ row: Row, at top: Double, _ x: (Double) -> Double, _ right: Double, _ isNarrow: Bool
  ) -> String {
    let middle = top + (isNarrow ? 36 : 20)
    let (begin, end) = (min(x(1), x(row.factor)), max(x(1), x(row.factor)))
    let words =
      row.factor >= 1
      ? "\(Format.number(row.factor)) ×" : "\(Format.number(1 / max(row.factor, 1e-6))) × worse"
    var text =
      "<text class=\"name\" x=\"0\" y=\"\(point(isNarrow ? top + 16 : middle + 4))\">"
      + Markup.escaped(isNarrow ? "\(row.label): \(row.ours), \(row.theirs)" : row.label)
      + "</text>"
    text +=
      "<rect class=\"f\(row.style)\" x=\"\(point(begin))\" y=\"\(point(middle - 9))\""
      + " width=\"\(point(max(1, end - begin)))\" height=\"18\" rx=\"2\"><title>"
      + Markup.escaped(
        "\(row.label): \(words), \(Format.number(row.factorMin)) to \(Format.number(row.factorMax))"
      )
      + "</title></rect>"
    text +=
      "<line class=\"spread\" x1=\"\(point(x(row.factorMin)))\""
      + " x2=\"\(point(x(row.factorMax)))\" y1=\"\(point(middle))\" y2=\"\(point(middle))\"/>"
    let edge = max(end, x(row.factorMax))
    let start = min(begin, x(row.factorMin))
    text +=
      row.factor >= 1
      ? "<text class=\"strong\" x=\"\(point(edge + 8))\" y=\"\(point(middle + 4))\">\(words)</text>"
      : "<text class=\"strong\" x=\"\(point(start - 8))\" y=\"\(point(middle + 4))\""
        + " text-anchor=\"end\">\(words)</text>"
    guard !isNarrow else { return text }
    return text
      + "<text class=\"strong\" x=\"\(point(right + 84))\" y=\"\(point(middle + 4))\""
      + " text-anchor=\"end\">\(Markup.escaped(row.ours))</text>"
      + "<text x=\"\(point(right + 166))\" y=\"\(point(middle + 4))\" text-anchor=\"end\">"
      + "\(Markup.escaped(row.theirs))</text>"
  }
}

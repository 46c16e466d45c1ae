/// Maps values to positions: linear from 0, or logarithmic.
import Foundation

struct Scale: Equatable {
  enum Kind: Equatable { case linear, logarithmic }

  let kind: Kind
  let low: Double
  let high: Double
  let ticks: [Double]

  /// From 0 to at least the largest value, in about `steps` steps. No values, or only zeros, give 0
  /// to 1.
  static func linear(_ values: [Double], steps: Int = 4) -> Scale {
    let largest = values.filter { $0.isFinite }.max() ?? 0
    guard largest > 0 else { return Scale(kind: .linear, low: 0, high: 1, ticks: [0, 1]) }
    let step = nice(largest / Double(max(1, steps)))
    let count = Int((largest / step - 1e-9).rounded(.up))
    let ticks = (0...max(1, count)).map { Double($0) * step }
    return Scale(kind: .linear, low: 0, high: ticks.last ?? 1, ticks: ticks)
  }

  /// The same for memory, with steps that are round in binary units.
  static func binary(_ values: [Double]) -> Scale {
    let largest = values.filter { $0.isFinite }.max() ?? 0
    let unit = [1_073_741_824.0, 1_048_576, 1024, 1].first { largest >= $0 } ?? 1
    let scale = linear(values.map { $0 / unit })
    return Scale(
      kind: .linear, low: 0, high: scale.high * unit, ticks: scale.ticks.map { $0 * unit })
  }

  /// Whole decades around the values, with 2 and 5 within them if there are few. Values not above 0
  /// are at the lower edge.
  static func logarithmic(_ values: [Double]) -> Scale {
    let positive = values.filter { $0 > 0 && $0.isFinite }
    guard let least = positive.min(), let most = positive.max() else {
      return Scale(kind: .logarithmic, low: 1, high: 10, ticks: [1, 10])
    }
    let first = max(-12, Int(log10(least).rounded(.down)))
    var last = min(15, Int((log10(most) - 1e-9).rounded(.up)))
    if last <= first { last = first + 1 }
    var ticks: [Double] = []
    let parts: [Double] = last - first <= 2 ? [1, 2, 5] : [1]
    for decade in first..<last { ticks += parts.map { $0 * pow(10, Double(decade)) } }
    ticks.append(pow(10, Double(last)))
    return Scale(
      kind: .logarithmic, low: pow(10, Double(first)), high: pow(10, Double(last)), ticks: ticks)
  }

  /// 0 at the lower edge, 1 at the upper one, clamped.
  func fraction(_ value: Double) -> Double {
    let part: Double
    switch kind {
    case .linear: part = (value - low) / (high - low)
    case .logarithmic: part = log(max(value, low) / low) / log(high / low)
    }
    return part.isFinite ? min(1, max(0, part)) : 0
  }

  /// The next of 1, 2, 2.5 or 5 times a power of ten.
  static func nice(_ value: Double) -> Double {
    guard value > 0, value.isFinite else { return 1 }
    let power = pow(10, log10(value).rounded(.down))
    return ([1, 2, 2.5, 5, 10].first { $0 * power >= value * (1 - 1e-9) } ?? 10) * power
  }

  /// Positions on a time axis: 0, and round steps up to the end.
  static func moments(until end: Double, atMost count: Int) -> [Double] {
    let steps: [Double] = [
      1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    ]
    guard end > 0, end.isFinite else { return [0] }
    let step = steps.first { end / $0 <= Double(count) } ?? 86_400 * (end / 86_400 / 5).rounded(.up)
    return (0...Int(end / step)).map { Double($0) * step }
  }
}

/// At most two values for each of `buckets` parts of `x`: the smallest and the largest, in their
/// order, so that peaks stay visible. A part without values keeps one nil, which is drawn as a gap.
func downsampled(_ x: [Double], _ values: [Double?], buckets: Int) -> [(x: Double, y: Double?)] {
  let count = min(x.count, values.count)
  guard count > 2 * buckets, buckets > 0, let first = x.first, x[count - 1] > first else {
    return (0..<count).map { (x[$0], values[$0]) }
  }
  var result: [(x: Double, y: Double?)] = []
  var start = 0
  let width = (x[count - 1] - first) / Double(buckets)
  for bucket in 0..<buckets {
    var end = start
    let limit = first + width * Double(bucket + 1)
    while end < count, x[end] < limit || bucket == buckets - 1 { end += 1 }
    guard start < end else { continue }
    let known = (start..<end).filter { values[$0] != nil }
    defer { start = end }
    guard let least = known.min(by: { (values[$0] ?? 0) < (values[$1] ?? 0) }),
      let most = known.max(by: { (values[$0] ?? 0) < (values[$1] ?? 0) })
    else {
      result.append((x[start], nil))
      continue
    }
    // A gap longer than half of a part must stay visible.
    if known.count * 2 < end - start { result.append((x[start], nil)) }
    for index in Set([least, most]).sorted() { result.append((x[index], values[index])) }
  }
  return result
}

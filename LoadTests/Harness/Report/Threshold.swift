/// A limit of a figure: `ack_p99_ms < 10`. A missed limit has its own exit status.
import ArgumentParser

struct Threshold: Equatable, Sendable {
  enum Comparison: String, CaseIterable, Sendable {
    // Longer operators first, because they are matched in this order.
    case atMost = "<="
    case atLeast = ">="
    case equal = "=="
    case different = "!="
    case below = "<"
    case above = ">"
  }

  var figure: String
  var comparison: Comparison
  var limit: Double

  var condition: String { "\(comparison.rawValue) \(shortest(limit))" }
  var text: String { "\(figure) \(condition)" }

  func isKept(by value: Double) -> Bool {
    switch comparison {
    case .atMost: value <= limit
    case .atLeast: value >= limit
    case .equal: value == limit
    case .different: value != limit
    case .below: value < limit
    case .above: value > limit
    }
  }

  func verdict(_ figures: [String: Double]) -> RunRecord.ThresholdVerdict {
    let value = figures[figure]
    return RunRecord.ThresholdVerdict(
      figure: figure, condition: condition, value: value, isKept: value.map(isKept) ?? false)
  }
}

enum ThresholdFault: Error, Equatable, CustomStringConvertible {
  case unknownFigure(String, meant: String?)
  case malformed(String)

  var description: String {
    switch self {
    case .unknownFigure(let name, let meant):
      "unknown figure \(name)" + (meant.map { "; did you mean \($0)?" } ?? "")
        + " (chirrup-load figures lists them)"
    case .malformed(let text):
      "\"\(text)\" is not a threshold, such as < 10, <= 10, > 10, >= 10, == 10, != 10, "
        + "or 10 alone, which is == 10"
    }
  }
}

extension Threshold {
  /// A condition without a name, as in a profile: `< 10`; `0` means `== 0`.
  init(figure: String, condition: String) throws(ThresholdFault) {
    guard Figure.named(figure) != nil else {
      throw .unknownFigure(figure, meant: nearest(to: figure, among: Figure.all.map(\.name)))
    }
    var text = condition.trimmed
    var comparison = Comparison.equal
    if let found = Comparison.allCases.first(where: { text.hasPrefix($0.rawValue) }) {
      comparison = found
      text = text.dropFirst(found.rawValue.count).trimmed
    }
    text.removeAll { $0 == "_" }
    guard let limit = Double(text), limit.isFinite else { throw .malformed(condition) }
    self.init(figure: figure, comparison: comparison, limit: limit)
  }

  /// A condition with a name: `ack_p99_ms<10`.
  init(_ text: String) throws(ThresholdFault) {
    let name = text.trimmed.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    let condition = text.trimmed.dropFirst(name.count).trimmed
    guard !name.isEmpty, condition.first.map({ "<>=!".contains($0) }) == true else {
      throw .malformed(text)
    }
    try self.init(figure: String(name), condition: condition)
  }
}

extension StringProtocol {
  var trimmed: String {
    var text = Substring(self)
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}

/// 10 and not 10.0, but 0.25.
func shortest(_ value: Double) -> String {
  value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
}

/// The most similar name, for a suggestion; nil if none is similar enough.
func nearest(to name: String, among names: [String]) -> String? {
  let scored = names.map { (name: $0, distance: distance(name, $0)) }
  guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
  return best.distance <= max(2, name.count / 3) ? best.name : nil
}

/// The Levenshtein distance: insertions, deletions and replacements.
private func distance(_ one: String, _ other: String) -> Int {
  let (one, other) = (Array(one.utf8.prefix(100)), Array(other.utf8.prefix(100)))
  var row = Array(0...other.count)
  for (line, letter) in one.enumerated() {
    var diagonal = row[0]
    row[0] = line + 1
    for (column, counterpart) in other.enumerated() {
      let replaced = diagonal + (letter == counterpart ? 0 : 1)
      diagonal = row[column + 1]
      row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
    }
  }
  return row[other.count]
}

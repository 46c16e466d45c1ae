/// All problems of a configuration, each with the key, the source, the reason and the accepted
/// values.
public struct SettingsFault: Error, Equatable, CustomStringConvertible {
  public var problems: [String]

  public var description: String { describe("nothing was started") }

  /// - Parameter consequence: what did not happen.
  public func describe(_ consequence: String) -> String {
    let count = problems.count == 1 ? "One setting is" : "\(problems.count) settings are"
    return "\(count) invalid, so \(consequence):\n"
      + problems.map { "  \($0)" }.joined(separator: "\n")
  }
}

/// The known name most similar to `name`, if it may be a misspelling of it.
func suggestion(for name: String, among known: [String]) -> String? {
  let nearest = known.map { (name: $0, distance: editDistance(name, $0)) }
    .min { $0.distance < $1.distance }
  guard let nearest, nearest.distance <= max(2, name.count / 3) else { return nil }
  return nearest.name
}

/// The Levenshtein distance over bytes.
private func editDistance(_ left: String, _ right: String) -> Int {
  let right = Array(right.utf8)
  var row = Array(0...right.count)
  for (index, letter) in left.utf8.enumerated() {
    var diagonal = row[0]
    row[0] = index + 1
    for column in right.indices {
      let substitution = diagonal + (letter == right[column] ? 0 : 1)
      diagonal = row[column + 1]
      row[column + 1] = min(substitution, row[column] + 1, row[column + 1] + 1)
    }
  }
  return row[right.count]
}

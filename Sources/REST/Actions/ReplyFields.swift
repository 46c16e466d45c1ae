/// The fields of a canned reply (`{{visitor.name}}`), as the console fills them.
enum ReplyFields {
  /// The text with its fields filled in. Throws if a field has no value: visitors must not read
  /// its name.
  static func fill(_ text: String, _ values: [String: String]) throws(Problem) -> String {
    var filled = ""
    var rest = text[...]
    while let match = rest.firstMatch(of: /\{\{\s*([A-Za-z0-9_.]+)\s*\}\}/) {
      let name = String(match.1)
      guard let value = values[name], !value.isEmpty else { throw .openField(name) }
      filled += rest[..<match.range.lowerBound]
      filled += value
      rest = rest[match.range.upperBound...]
    }
    return filled + rest
  }
}

extension Problem {
  static func openField(_ name: String) -> Problem {
    Problem(
      status: 409, type: "open_field", title: "Field without a value",
      detail: "The reply has the field “\(name)”, and this conversation has no value for it. Write "
        + "to this visitor yourself.")
  }
}

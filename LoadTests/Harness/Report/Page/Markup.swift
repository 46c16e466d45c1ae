/// The text of a page, with all content escaped.
struct Markup {
  private(set) var text = ""

  /// Appends markup without escaping.
  mutating func raw(_ markup: String) { text += markup }

  /// `<name …>words</name>`
  mutating func element(_ name: String, _ attributes: String = "", _ words: String) {
    text += Markup.element(name, attributes, words)
  }

  static func element(_ name: String, _ attributes: String = "", _ words: String) -> String {
    "<\(name)\(attributes.isEmpty ? "" : " " + attributes)>\(escaped(words))</\(name)>"
  }

  /// Escapes text, also for attributes in double quotes.
  static func escaped(_ words: String) -> String {
    var text = ""
    text.reserveCapacity(words.utf8.count)
    for character in words.unicodeScalars {
      switch character {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&#39;"
      // Not permitted in HTML, not even escaped; browsers treat a line break in text as a space.
      case "\u{0}"..."\u{8}", "\u{B}", "\u{C}", "\u{E}"..."\u{1F}", "\u{7F}"..."\u{9F}":
        text += "\u{FFFD}"
      default: text.unicodeScalars.append(character)
      }
    }
    return text
  }
}

/// A coordinate with one decimal.
func point(_ value: Double) -> String {
  guard value.isFinite else { return "0" }
  let tenths = Int((max(-1e6, min(1e6, value)) * 10).rounded())
  let whole = "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10)"
  return tenths % 10 == 0 ? whole : "\(whole).\(abs(tenths) % 10)"
}

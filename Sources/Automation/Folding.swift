/// How texts are compared: without regard to case, to the width of letters, to what shows nothing
/// (joiners, variation selectors) and to how words are spaced. Composed and decomposed characters
/// are equal because the result is compared as a `String`.
///
/// Each character goes to lower case by way of upper case, so that `ß` and `SS`, `ς` and `Σ` are
/// the same, and the Turkish dotted `İ` is an `i`: a visitor's keyboard decides how a word is
/// written, not the administrator who wrote the keyword.
public enum Folding {
  public static func fold(_ text: String) -> String {
    var folded = String.UnicodeScalarView()
    // No space at the beginning.
    var isSpaced = true
    for scalar in text.unicodeScalars {
      if scalar.properties.isWhitespace {
        if !isSpaced { folded.append(" ") }
        isSpaced = true
        continue
      }
      for lower in lowered(scalar) where !isIgnored(lower) {
        folded.append(lower)
        isSpaced = false
      }
    }
    if folded.last == " " { folded.removeLast() }
    return String(folded)
  }

  /// A pattern's text: escapes (`\W`, `\B`) mean what they meant, and spaces stay as they are.
  static func fold(_ pattern: String, keepingEscapes: Bool) -> String {
    var folded = String.UnicodeScalarView()
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      if isEscaped && scalar.value < 0x80 {
        folded.append(scalar)
      } else {
        folded.append(contentsOf: lowered(scalar))
      }
      isEscaped = scalar == "\\" && !isEscaped
    }
    return String(folded)
  }

  private static func lowered(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    if scalar.value < 0x80 {
      return [0x41...0x5A ~= scalar.value ? Unicode.Scalar(UInt8(scalar.value | 0x20)) : scalar]
    }
    // Full-width forms of ASCII, as Japanese keyboards write them.
    if 0xFF01...0xFF5E ~= scalar.value, let narrow = Unicode.Scalar(scalar.value - 0xFEE0) {
      return lowered(narrow)
    }
    return scalar.properties.uppercaseMapping.lowercased().unicodeScalars.map {
      $0 == "ς" ? "σ" : $0
    }
  }

  /// The dot above of a lowered `İ`, and what shows nothing: joiners, variation selectors.
  private static func isIgnored(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value == 0x307 || scalar.properties.isDefaultIgnorableCodePoint
  }
}

import Primitives

/// Normalizes texts for comparison: ignores case, the width of letters, invisible characters
/// (joiners, variation selectors) and the amount of white space. Composed and decomposed characters
/// are equal, because `String` compares the results by canonical equivalence.
///
/// Each character is mapped to upper case and then to lower case, so that `ß` equals `SS`, `ς`
/// equals `Σ`, and the Turkish dotted `İ` equals `i`: visitors may spell a keyword as their
/// keyboards do.
public enum Folding {
  public static func fold(_ text: String) -> String {
    var folded = String.UnicodeScalarView()
    // True at the beginning, so that leading spaces are dropped.
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

  /// Folds the text of a pattern: keeps the case of escapes (`\W`, `\B`) and all spaces.
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
      return [Unicode.Scalar(UInt8(scalar.value).lowercasedASCII)]
    }
    // Full-width forms of ASCII, as typed on Japanese keyboards.
    if 0xFF01...0xFF5E ~= scalar.value, let narrow = Unicode.Scalar(scalar.value - 0xFEE0) {
      return lowered(narrow)
    }
    return scalar.properties.uppercaseMapping.lowercased().unicodeScalars.map {
      $0 == "ς" ? "σ" : $0
    }
  }

  /// The combining dot of a lower-cased `İ`, and invisible characters.
  private static func isIgnored(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value == 0x307 || scalar.properties.isDefaultIgnorableCodePoint
  }
}

/// The name of a file as people see it. It is a text and never part of a path.
import Primitives

public enum AttachmentName {
  /// The name without what deceives a reader or breaks a header: folders, controls, line breaks,
  /// and marks that turn the direction of writing (`exe.gpj` shown as `jpg.exe`).
  ///
  /// - Returns: at most `AttachmentLimits.nameBytes` bytes, with the end of the name; `file` if
  ///   nothing remains.
  public static func clean(_ text: String) -> String {
    let last = text.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? ""
    var scalars = String.UnicodeScalarView()
    for scalar in last.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator, .surrogate: scalars.append(" ")
      // Zero-width joiners belong to scripts and emoji.
      case .format where scalar.value != 0x200C && scalar.value != 0x200D: break
      default: scalars.append(scalar)
      }
    }
    var name = String(scalars).trimmingDots
    if name.utf8.count > AttachmentLimits.nameBytes { name = shortened(name) }
    return name.isEmpty ? "file" : name
  }

  private static func shortened(_ name: String) -> String {
    let end = ContentType.ending(of: name).map { "." + $0 } ?? ""
    let kept = end.utf8.count <= 16 ? end : ""
    var start = Substring(name.dropLast(kept.count))
    while start.utf8.count + kept.utf8.count > AttachmentLimits.nameBytes { start.removeLast() }
    return start + kept
  }

  /// The value of Content-Disposition (RFC 6266): a name in ASCII for old clients, and the whole
  /// one in UTF-8 (RFC 8187).
  public static func disposition(_ name: String, isInline: Bool) -> String {
    let plain = String(
      String.UnicodeScalarView(
        name.unicodeScalars.map { scalar in
          let isSafe = 0x20..<0x7F ~= scalar.value && !"\"\\%".unicodeScalars.contains(scalar)
          return isSafe ? scalar : "_"
        }))
    var encoded = ""
    for byte in name.utf8 {
      if byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte) {
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += "%" + (digits.utf8.count == 1 ? "0" : "") + digits
      }
    }
    let type = isInline ? "inline" : "attachment"
    return "\(type); filename=\"\(plain)\"; filename*=UTF-8''\(encoded)"
  }
}

extension String {
  /// Without blanks at both ends, and without dots and blanks at the end, which some systems drop:
  /// `.` and `..` become empty.
  fileprivate var trimmingDots: String {
    var text = self[...]
    while let first = text.first, first.isWhitespace { text.removeFirst() }
    while let last = text.last, last.isWhitespace || last == "." { text.removeLast() }
    return String(text)
  }
}

/// Rules for texts that several handlers share.

/// The longest prefix of whole characters in UTF-8 with at most `bytesMax` bytes.
func cut(_ text: String, bytesMax: Int) -> String {
  guard text.utf8.count > bytesMax else { return text }
  var bytes = Array(text.utf8.prefix(bytesMax + 1))
  // The first omitted byte must begin a character.
  while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
  bytes.removeLast()
  return String(decoding: bytes, as: UTF8.self)
}

/// Whether a path can contain the name: no request target contains the other characters, escaped
/// or not.
func isPathName(_ text: String) -> Bool {
  text != "." && text != ".."
    && text.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0 != "/" && $0 != "\\" && $0 != "\u{7F}"
    }
}

/// Whether a text has the form of an e-mail address: one `@` between two texts without white space
/// and control characters. Only delivery can tell more.
func isEmailAddress(_ text: String) -> Bool {
  let parts = text.split(separator: "@", omittingEmptySubsequences: false)
  return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
    && text.unicodeScalars.allSatisfy {
      $0.value > 0x20 && $0.value != 0x7F && !$0.properties.isWhitespace
    }
}

/// Rules for texts that several handlers share.

/// Without spaces and tabs at both ends (optional white space of RFC 9110 §5.6.3).
func trimmed(_ text: some StringProtocol) -> String {
  let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
  guard let first = text.firstIndex(where: { !isBlank($0) }),
    let last = text.lastIndex(where: { !isBlank($0) })
  else { return "" }
  return String(text[first...last])
}

/// Compares names of headers and schemes: only ASCII letters are folded (RFC 9110 §5.1).
func equalIgnoringCase(_ left: String, _ right: String) -> Bool {
  left.utf8.elementsEqual(right.utf8) { lowercaseASCII($0) == lowercaseASCII($1) }
}

private func lowercaseASCII(_ byte: UInt8) -> UInt8 {
  0x41...0x5A ~= byte ? byte | 0x20 : byte
}

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

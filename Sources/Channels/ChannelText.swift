/// Texts of channels: as the log takes them, and in the lengths that platforms take.
import Chat
import Primitives

/// A text in parts of at most `unitsMax`, split after a line, else after a blank, else between
/// characters.
func textParts(of text: String, unitsMax: Int) -> [String] {
  var parts: [String] = []
  var rest = text[...]
  while rest.utf16.count > unitsMax {
    var end = rest.startIndex
    var (line, blank): (String.Index?, String.Index?) = (nil, nil)
    var units = 0
    while end < rest.endIndex {
      units += rest[end].utf16.count
      guard units <= unitsMax else { break }
      let character = rest[end]
      end = rest.index(after: end)
      if character.isNewline { line = end } else if character.isWhitespace { blank = end }
    }
    // A single character may be longer than a part: it is split between its scalars.
    if end == rest.startIndex {
      end = rest.unicodeScalars.index(after: rest.startIndex)
    }
    let cut = line ?? blank ?? end
    parts.append(String(rest[..<cut]))
    rest = rest[cut...]
  }
  if !rest.isEmpty { parts.append(String(rest)) }
  let visible = parts.filter { part in part.contains { !$0.isWhitespace } }
  return visible.isEmpty ? Array(parts.prefix(1)) : visible
}

func cut(_ text: String, units: Int) -> String {
  guard text.utf16.count > units else { return text }
  var count = 1
  return String(
    text.prefix { character in
      count += character.utf16.count
      return count <= units
    }) + "…"
}

/// What stands for something that is no text: `[image]`, `[file: bill.pdf]`.
func line(_ type: String, _ text: String?) -> String {
  text.flatMap { $0.isEmpty ? nil : "[\(type): \($0)]" } ?? "[\(type)]"
}

/// A body as the log takes it.
func cut(_ text: String) -> String {
  guard text.utf8.count > Limits.bodyBytes else { return text }
  var count = 0
  return String(
    text.unicodeScalars.prefix { scalar in
      count += scalar.utf8.count
      return count <= Limits.bodyBytes
    })
}

/// JSON whose escapes of U+0000 and of unpaired surrogates, which the log cannot have, are those of
/// U+FFFD.
func storable(_ json: [UInt8]) -> [UInt8] {
  let high = 0xD800..<0xDC00
  let low = 0xDC00..<0xE000
  func unit(_ at: Int) -> Int? {
    guard at + 6 <= json.count, json[at] == UInt8(ascii: "\\"), json[at + 1] == UInt8(ascii: "u")
    else { return nil }
    return Int(String(decoding: json[(at + 2)..<(at + 6)], as: UTF8.self), radix: 16)
  }
  var text: [UInt8] = []
  text.reserveCapacity(json.count)
  var at = 0
  while at < json.count {
    guard json[at] == UInt8(ascii: "\\"), at + 1 < json.count else {
      text.append(json[at])
      at += 1
      continue
    }
    guard let first = unit(at) else {
      text += json[at...(at + 1)]
      at += 2
      continue
    }
    let isPair = high.contains(first) && unit(at + 6).map { low.contains($0) } == true
    if isPair {
      text += json[at..<(at + 12)]
      at += 12
      continue
    }
    if first == 0 || high.contains(first) || low.contains(first) {
      text += Array("\\ufffd".utf8)
    } else {
      text += json[at..<(at + 6)]
    }
    at += 6
  }
  return text
}

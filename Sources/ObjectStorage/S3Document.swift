/// Reads the text of an element from an answer of S3. The answers are small documents of a fixed
/// form, of which two elements are needed, so this is no parser of XML: the first element with
/// the name counts, wherever it is, and whatever else the document contains is skipped.

struct S3Document {
  /// The most bytes of an answer that are read. Amazon's are a few hundred.
  static let bytesMax = 65_536
  /// The longest text that counts; an upload's id of Amazon has about 130 bytes.
  static let textBytesMax = 2_048

  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = Array(bytes.prefix(S3Document.bytesMax)) }

  /// Nil without such an element, for an element that contains others, and for a text that is too
  /// long or not UTF-8.
  func text(of name: String) -> String? {
    guard let start = end(of: "<\(name)>", from: 0),
      let close = bytes[start...].firstIndex(of: UInt8(ascii: "<")),
      bytes[close...].starts(with: "</\(name)>".utf8), close - start <= S3Document.textBytesMax,
      let text = String(validating: bytes[start..<close], as: UTF8.self)
    else { return nil }
    return S3Document.unescaped(text)
  }

  /// Whether the document's first element has this name.
  func isRooted(in name: String) -> Bool {
    var position = 0
    while let open = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
      let next = bytes[open...].dropFirst()
      if next.first != UInt8(ascii: "?"), next.first != UInt8(ascii: "!") {
        guard next.starts(with: name.utf8) else { return false }
        let behind = next.dropFirst(name.utf8.count).first
        return behind.map { " >/".utf8.contains($0) } ?? false
      }
      position = open + 1
    }
    return false
  }

  /// The position behind the first `text`.
  private func end(of text: String, from start: Int) -> Int? {
    let wanted = Array(text.utf8)
    var position = start
    while position + wanted.count <= bytes.count {
      if bytes[position...].starts(with: wanted) { return position + wanted.count }
      position += 1
    }
    return nil
  }

  /// The five entities of XML (XML 1.0 §4.6); another one stays as it is.
  private static func unescaped(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
    var result = ""
    var rest = text[...]
    while let first = rest.first {
      let entity = entities.first { rest.hasPrefix($0.name) }
      result.append(entity?.character ?? first)
      rest = rest.dropFirst(entity?.name.count ?? 1)
    }
    return result
  }

  private static let entities: [(name: String, character: Character)] = [
    ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&"),
  ]
}

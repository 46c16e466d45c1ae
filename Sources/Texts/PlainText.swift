/// The text of an HTML message, of an import or an e-mail, and the division of long texts. Both
/// take time proportional to the length of the text, and neither needs valid HTML.
import Primitives

public enum PlainText {
  /// Elements whose content is not text.
  private static let hidden: Set<String> = ["style", "script", "head", "title"]
  /// Elements that begin a line, where they begin and where they end.
  private static let blocks: Set<String> = [
    "p", "div", "br", "tr", "li", "ul", "ol", "table", "blockquote", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "pre",
  ]
  private static let entities: [String: Character] = [
    "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " ",
  ]
  /// Characters of the longest name of an entity that is looked for.
  private static let entityLength = 10

  /// Whether a text has elements of HTML.
  public static func isHTML(_ text: String) -> Bool {
    text.contains("</") || text.contains("<br") || text.contains("<html")
  }

  /// The text of an HTML document: without markup, one line for each block, at most one blank line
  /// between two others.
  ///
  /// - Parameter withLinks: the address of a link or an image follows its text.
  public static func ofHTML(_ html: String, withLinks: Bool = false) -> String {
    let input = Array(html.unicodeScalars)
    var output: [Unicode.Scalar] = []
    var links = Links()
    var at = 0
    while at < input.count {
      switch input[at] {
      case "<":
        let end = skipMarkup(input, at, &output)
        if withLinks { links.note(input[at..<end], &output) }
        at = end
      case "&": at = appendEntity(input, at, &output)
      // A line break in HTML is a space.
      case "\n", "\r", "\t":
        output.append(" ")
        at += 1
      default:
        output.append(input[at])
        at += 1
      }
    }
    return tidy(String(String.UnicodeScalarView(output)))
  }

  private static func skipMarkup(
    _ input: [Unicode.Scalar], _ start: Int, _ output: inout [Unicode.Scalar]
  ) -> Int {
    if input[start...].starts(with: "<!--".unicodeScalars) {
      return end(of: "-->", in: input, from: start)
    }
    var at = start + 1
    let isEnd = at < input.count && input[at] == "/"
    if isEnd { at += 1 }
    var name = ""
    while at < input.count, input[at].properties.isAlphabetic || ("0"..."9") ~= input[at] {
      name.unicodeScalars.append(input[at])
      at += 1
    }
    name = name.lowercased()
    guard !name.isEmpty || isEnd || at < input.count && input[at] == "!" else {
      output.append("<")  // “a < b” is text.
      return start + 1
    }
    let after = end(of: ">", in: input, from: at)
    if hidden.contains(name), !isEnd {
      return end(of: ">", in: input, from: end(of: "</\(name)", in: input, from: after))
    }
    if blocks.contains(name) { output.append("\n") }
    if name == "li", !isEnd { output.append(contentsOf: "- ".unicodeScalars) }
    return after
  }

  /// The index after the next `mark`, in any case of its letters; the end of the text without one.
  private static func end(of mark: String, in input: [Unicode.Scalar], from start: Int) -> Int {
    let mark = Array(mark.unicodeScalars)
    var at = start
    while at + mark.count <= input.count {
      let isHere = zip(mark, input[at...]).allSatisfy { $0 == $1 || $0.value == $1.value | 0x20 }
      if isHere { return at + mark.count }
      at += 1
    }
    return input.count
  }

  private static func appendEntity(
    _ input: [Unicode.Scalar], _ start: Int, _ output: inout [Unicode.Scalar]
  ) -> Int {
    let limit = min(input.count, start + 2 + entityLength)
    guard let end = input[start..<limit].firstIndex(of: ";") else {
      output.append("&")
      return start + 1
    }
    let name = String(String.UnicodeScalarView(input[start + 1..<end]))
    let isHexadecimal = name.hasPrefix("#x") || name.hasPrefix("#X")
    let value =
      isHexadecimal
      ? UInt32(name.dropFirst(2), radix: 16)
      : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
    if let known = entities[name] {
      output.append(contentsOf: known.unicodeScalars)
    } else if let value, value != 0, let scalar = Unicode.Scalar(value) {
      output.append(scalar)
    } else {
      output.append("&")
      return start + 1
    }
    return end + 1
  }

  /// Addresses of links and images, from the elements that the text passes.
  private struct Links {
    /// Characters of an element that are searched.
    private static let elementLength = 4_096
    /// The address of the link that is open, and the place where its text begins.
    private var open: (address: String, start: Int)?

    mutating func note(
      _ element: ArraySlice<Unicode.Scalar>, _ output: inout [Unicode.Scalar]
    ) {
      let text = String(String.UnicodeScalarView(element.prefix(Self.elementLength)))
      let name = text.dropFirst().prefix { $0.isLetter || $0 == "/" }.lowercased()
      if name == "a", let address = Self.attribute("href", of: text) {
        open = (address, output.count)
      } else if name == "/a", let link = open {
        open = nil
        let shown = String(String.UnicodeScalarView(output[link.start...]))
        if shown != link.address {
          output.append(contentsOf: " (\(link.address))".unicodeScalars)
        }
      } else if name == "img", let address = Self.attribute("src", of: text) {
        output.append(contentsOf: "[image: \(address)]".unicodeScalars)
      }
    }

    /// Only an address of the web; `&amp;` in it is `&`.
    private static func attribute(_ name: String, of element: String) -> String? {
      guard let start = element.firstRange(of: " \(name)=")?.upperBound,
        let quote = element[start...].first, quote == "\"" || quote == "'"
      else { return nil }
      let value = element[start...].dropFirst().prefix { $0 != quote }
      guard value.hasPrefix("https://") || value.hasPrefix("http://") else { return nil }
      return String(value).replacing("&amp;", with: "&")
    }
  }

  private static func tidy(_ text: String) -> String {
    var lines: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split(separator: " ").joined(separator: " ")
      if words.isEmpty, lines.last?.isEmpty ?? true { continue }
      lines.append(words)
    }
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines.joined(separator: "\n")
  }

  /// Divides a text into parts of at most `bytes` bytes of UTF-8, between two characters, or inside
  /// of one that alone is longer.
  public static func parts(_ text: String, bytes: Int) -> [String] {
    guard text.utf8.count > bytes else { return [text] }
    var parts: [String] = []
    var part = ""
    func add(_ piece: String) {
      if part.utf8.count + piece.utf8.count > bytes {
        parts.append(part)
        part = ""
      }
      part += piece
    }
    for character in text {
      if character.utf8.count <= bytes {
        add(String(character))
      } else {
        for scalar in character.unicodeScalars { add(String(scalar)) }
      }
    }
    return parts + [part]
  }
}

/// Finds citations in text: ids of faults, pages with sections, links, RFCs. No function reads the
/// package, so that tests can pass wrong ones.
import Foundation

enum Citations {
  /// Ids of the catalogue of faults in one line: `H27a`, `F16`. Percentiles and times of day look
  /// similar and are skipped.
  static func faults(in line: Substring) -> [String] {
    let bytes = Array(line.utf8)
    var ids: [String] = []
    var start = 0
    while start + 2 < bytes.count {
      defer { start += 1 }
      guard chapters.contains(bytes[start]), isDigit(bytes, start + 1), isDigit(bytes, start + 2),
        !isWord(bytes, start - 1)
      else { continue }
      var end = start + 3
      if end < bytes.count, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(bytes[end]) {
        end += 1
      }
      let isTime =
        end < bytes.count && bytes[end] == UInt8(ascii: ":") && isDigit(bytes, end + 1)
      let isSystem = bytes[end...].starts(with: "; Linux".utf8)
      if isWord(bytes, end) || isTime || isSystem { continue }
      let id = String(decoding: bytes[start..<end], as: UTF8.self)
      if !lookAlikes.contains(id) { ids.append(id) }
    }
    return ids
  }

  private static let chapters = Set("HFDPAXNTROZ".utf8)
  /// Percentiles, and a part of the sample key of an old handshake.
  private static let lookAlikes = ["P50", "P90", "P95", "P99", "P00"]

  private static func isDigit(_ bytes: [UInt8], _ index: Int) -> Bool {
    bytes.indices.contains(index) && (0x30...0x39).contains(bytes[index])
  }

  private static func isWord(_ bytes: [UInt8], _ index: Int) -> Bool {
    guard bytes.indices.contains(index) else { return false }
    let byte = bytes[index]
    return isDigit(bytes, index) || byte == UInt8(ascii: "_")
      || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }

  /// A page cited in text: `Sources/PROTOCOL.md`, `PROTOCOL.md “The log”`, `README.md#limits`.
  struct PageReference: Equatable {
    var page: String
    var anchor: String?
    var section: String?
  }

  static func pages(in lines: [Substring], at index: Int) -> [PageReference] {
    guard lines[index].contains(".md") else { return [] }
    let text = joined(lines, at: index)
    let length = lines[index].utf8.count
    let form = /([A-Za-z0-9_.\/-]*[A-Za-z0-9_-]\.md)\b(?:#([\w-]+))?(?:,? \(?“([^”]+)”)?/
    return text.matches(of: form).compactMap { match -> PageReference? in
      let before = text[..<match.range.lowerBound]
      // Of another site, or the text of a link, whose target is checked.
      let isOther = before.hasSuffix(":") || text[match.range.upperBound...].hasPrefix("](")
      guard before.utf8.count < length, !isOther else { return nil }
      var page = match.output.1
      // `$root/README.md` in a shell script.
      if before.hasSuffix("$") { page = page.drop { $0 != "/" } }
      return PageReference(
        page: String(page.drop { $0 == "/" }), anchor: match.output.2.map(String.init),
        section: match.output.3.map(String.init))
    }
  }

  /// Relative targets of links, and of pictures in HTML.
  static func links(in line: Substring) -> [String] {
    guard line.contains("](") || line.contains("src") else { return [] }
    let markdown = line.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
    let html = line.matches(of: /\bsrc(?:set)?="([^"]+)"/).map { String($0.1) }
    return (markdown + html).filter {
      !$0.contains("://") && !$0.hasPrefix("mailto:") && !$0.hasPrefix("data:")
    }
  }

  /// Wrong citations of RFCs in a line: only `RFC 6455` and `RFC 6455 §5.2` are correct.
  static func wrongRFCs(in lines: [Substring], at index: Int) -> [String] {
    guard lines[index].contains("RFC") else { return [] }
    let text = joined(lines, at: index)
    let length = lines[index].utf8.count
    return text.matches(of: /\bRFC/).compactMap { match -> String? in
      let start = text.utf8.distance(from: text.startIndex, to: match.range.lowerBound)
      guard start < length else { return nil }
      let tail = text[match.range.upperBound...].prefix(48)
      return isRight(tail) ? nil : "RFC\(tail.prefix(20))"
    }
  }

  private static func isRight(_ tail: Substring) -> Bool {
    guard let number = tail.prefixMatch(of: #/ [0-9]{3,4}\b/#) else {
      // “The RFC”, without a number.
      return tail.prefixMatch(of: /s?[ -]{0,2}[0-9]/) == nil
    }
    let rest = tail[number.range.upperBound...]
    if rest.hasPrefix(" §") {
      return rest.prefixMatch(of: #/ §(?:[0-9]+|[A-Z])(?:\.[0-9]+)*/#) != nil
    }
    let other = /§|,? ?\(?(?:[Ss]ection|[Cc]hapter|[Aa]ppendix|[Aa]nnex|sec\.)/
    let bareSection = /,? (?:[0-9]+|[A-Z])\.[0-9]/
    let bareNumber = /(?:,| and| or) [0-9]{3,4}\b/
    return rest.prefixMatch(of: other) == nil && rest.prefixMatch(of: bareSection) == nil
      && rest.prefixMatch(of: bareNumber) == nil
  }

  /// The line, followed by the next one without its comment mark, because sentences span lines.
  private static func joined(_ lines: [Substring], at index: Int) -> String {
    let line = String(lines[index])
    guard index + 1 < lines.count else { return line }
    let next = lines[index + 1].drop { " \t/#*-".contains($0) }
    return line + (line.hasSuffix(" ") ? "" : " ") + next
  }

  /// The headings of a Markdown page, outside code.
  static func headings(of lines: [Substring]) -> [String] {
    var isCode = false
    return lines.compactMap { line -> String? in
      if line.hasPrefix("```") { isCode.toggle() }
      guard !isCode, let match = line.wholeMatch(of: /#{1,6} +(.+?) */) else { return nil }
      return String(match.output.1).replacing("`", with: "")
    }
  }

  /// The anchor that GitHub creates for a heading.
  static func anchors(of headings: [String]) -> Set<String> {
    var seen: [String: Int] = [:]
    return Set(
      headings.map { heading in
        let kept = heading.lowercased().unicodeScalars.filter {
          $0.properties.isAlphabetic || $0.properties.numericType != nil
            || " -_".unicodeScalars.contains($0)
        }
        let anchor = String(String.UnicodeScalarView(kept)).replacing(" ", with: "-")
        defer { seen[anchor, default: 0] += 1 }
        return seen[anchor].map { "\(anchor)-\($0)" } ?? anchor
      })
  }
}

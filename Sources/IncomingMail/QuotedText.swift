/// The new text of a reply: without the message that it quotes, and without a signature.
///
/// The rules are conservative: what is cut is lost for the operator, and what stays is a nuisance
/// only. If nothing would be left, all is kept. Time is proportional to the length of the text.
import Mail

enum QuotedText {
  /// Lines of a signature at the most (RFC 3676 §4.3 has four; firms write more).
  static let signatureLinesMax = 15
  /// Characters of a line that is taken for the head of a quotation.
  private static let headCharactersMax = 300

  /// Words with which mail programs begin the line before a quotation, those with which they end
  /// it, and those behind which the author's name ends it: `Am 3. Mai 2027 schrieb Ann:`.
  private static let heads: [(start: String, ends: [String], verbs: [String])] = [
    ("on ", ["wrote:", "writes:"], []), ("am ", ["schrieb:", "geschrieben:"], [" schrieb "]),
    ("le ", ["écrit :", "écrit:", "ecrit :", "ecrit:"], []),
    ("el ", ["escribió:", "escribio:"], [" escribió "]),
    ("op ", ["schreef:", "geschreven:"], [" schreef "]),
    ("il ", ["scritto:"], [" ha scritto "]), ("em ", ["escreveu:"], [" escreveu "]),
    ("den ", ["skrev:"], [" skrev "]), ("w dniu ", ["napisał:", "napisał(a):"], [" pisze "]),
  ]
  /// Words of lines after which all is a quotation, between five hyphens or more.
  private static let separators: Set<String> = [
    "original message", "ursprüngliche nachricht", "message d'origine", "mensaje original",
    "oorspronkelijk bericht", "messaggio originale",
  ]
  /// The first lines of the head that Outlook writes without `>`: the field of the author, and one
  /// of the next three.
  private static let authorFields = ["from:", "von:", "de :", "de:", "van:", "da:"]
  private static let furtherFields = [
    "sent:", "to:", "gesendet:", "an:", "envoyé :", "envoyé:", "à :", "enviado:", "para:",
    "verzonden:", "aan:", "inviato:", "date:", "datum:",
  ]

  static func new(of text: String) -> String {
    let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
    var kept = Array(lines.prefix(upTo: end(of: lines)))
    kept = withoutSignature(withoutQuotations(kept))
    let result = trimmed(kept)
    return result.isEmpty ? trimmed(lines) : result
  }

  /// Where the quoted message begins.
  private static func end(of lines: [Substring]) -> Int {
    for (index, line) in lines.enumerated() {
      let bare = normal(line)
      if bare.contains(marker) { return quoteStart(lines, index) }
      if isSeparator(bare) { return index }
      if isHead(lines, index, bare) { return index }
      if isOutlookHead(lines, index, bare) { return index }
    }
    return lines.count
  }

  private static func isSeparator(_ bare: String) -> Bool {
    if bare.utf8.count >= 30, bare.utf8.allSatisfy({ $0 == UInt8(ascii: "_") }) { return true }
    guard bare.hasPrefix("-----"), bare.hasSuffix("-----"), bare.count <= 80 else { return false }
    let words = bare.drop { $0 == "-" || $0 == " " }.reversed().drop { $0 == "-" || $0 == " " }
    return separators.contains(String(words.reversed()))
  }

  /// `Reply above this line`, however a mail program has changed the hyphens around it.
  private static let marker = MailDigest.marker.lowercased().split(separator: " ").filter {
    $0.contains { $0.isLetter }
  }.joined(separator: " ")

  /// The marker is the first line of what is quoted: the line before it, if it ends with a colon
  /// or names the author, is the head of the quotation in a language that is not known here.
  private static func quoteStart(_ lines: [Substring], _ index: Int) -> Int {
    var at = index
    while at > 0, normal(lines[at - 1]).isEmpty { at -= 1 }
    guard at > 0 else { return index }
    let before = normal(lines[at - 1])
    let isHead =
      before.hasSuffix(":") && before.count <= headCharactersMax
      && (before.contains("@") || before.contains { $0.isNumber })
    return isHead ? at - 1 : index
  }

  /// In lower case, without quotation marks at its beginning and blanks at its ends.
  private static func normal(_ line: Substring) -> String {
    let bare = line.drop { $0 == ">" || $0.isWhitespace || $0 == "*" }
    return String(bare.reversed().drop { $0.isWhitespace || $0 == "*" }.reversed()).lowercased()
  }

  /// `On Mon, 3 May 2027 at 10:12, Ann <ann@example.com> wrote:`, which may go over two or three
  /// lines, before a quotation or the end.
  private static func isHead(_ lines: [Substring], _ index: Int, _ bare: String) -> Bool {
    guard let head = heads.first(where: { bare.hasPrefix($0.start) }),
      !lines[index].hasPrefix(">")
    else { return false }
    var text = bare
    for further in 0..<3 {
      guard text.count <= headCharactersMax else { return false }
      if head.ends.contains(where: { text.hasSuffix($0) })
        || text.hasSuffix(":") && head.verbs.contains(where: { text.contains($0) })
      {
        return text.contains { $0.isNumber } && isQuotedNext(lines, after: index + further)
      }
      guard index + further + 1 < lines.count else { return false }
      text += " " + normal(lines[index + further + 1])
    }
    return false
  }

  /// Whether the next line that is not blank is a quotation, or the text has none: programs that
  /// quote by indentation leave no mark in plain text, and the head then is followed by our marker.
  private static func isQuotedNext(_ lines: [Substring], after index: Int) -> Bool {
    guard let next = lines[(index + 1)...].first(where: { !$0.allSatisfy(\.isWhitespace) }) else {
      return true
    }
    return next.hasPrefix(">") || normal(next).contains(marker)
      || lines[(index + 1)...].prefix(40).contains { normal($0).contains(marker) }
  }

  private static func isOutlookHead(_ lines: [Substring], _ index: Int, _ bare: String) -> Bool {
    guard authorFields.contains(where: { bare.hasPrefix($0) }), bare.count > 5 else {
      return false
    }
    return lines[(index + 1)...].prefix(3).contains { line in
      let next = normal(line)
      return furtherFields.contains { next.hasPrefix($0) }
    }
  }

  /// Quotations at the end and the beginning are cut; those between answers are what the answers
  /// refer to, and stay.
  private static func withoutQuotations(_ lines: [Substring]) -> [Substring] {
    let isQuoted = { (line: Substring) in line.hasPrefix(">") }
    let isBlank = { (line: Substring) in line.allSatisfy(\.isWhitespace) }
    guard let last = lines.lastIndex(where: { !isQuoted($0) && !isBlank($0) }) else { return [] }
    return Array(lines[...last])
  }

  /// What follows `-- ` on a line of its own (RFC 3676 §4.3), if it is as short as a signature.
  private static func withoutSignature(_ lines: [Substring]) -> [Substring] {
    guard let start = lines.lastIndex(where: { $0 == "-- " || $0 == "--" }),
      lines.count - start <= signatureLinesMax, start > 0
    else { return lines }
    return Array(lines[..<start])
  }

  private static func trimmed(_ lines: [Substring]) -> String {
    let isBlank = { (line: Substring) in line.allSatisfy(\.isWhitespace) }
    let rest = lines.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
    return rest.joined(separator: "\n")
  }
}

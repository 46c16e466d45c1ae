import Primitives

/// One statement of an SQL script, with its line for error messages.
public struct Statement: Sendable, Equatable {
  public var text: String
  /// The line of the file on which it begins; the first line is 1.
  public var line: Int

  public init(text: String, line: Int) {
    self.text = text
    self.line = line
  }

  /// Its first line, for messages.
  public var title: String {
    String(text.prefix { $0 != "\n" }.prefix(100))
  }
}

/// Splits an SQL script into its statements. Pure.
///
/// It skips semicolons inside of quoted strings and names, `E''` escapes, dollar quotes, line
/// comments and nested block comments (PostgreSQL manual §4.1). A migration must not contain
/// transaction commands.
struct ScriptReader {
  private let bytes: [UInt8]
  private var offset = 0
  private var line: Int
  private var start: Int?
  private var startLine = 1
  private var statements: [Statement] = []

  /// `firstLine` is the number of the script's first line in its file.
  static func statements(of script: String, firstLine: Int = 1) -> [Statement] {
    var reader = ScriptReader(bytes: Array(script.utf8), line: firstLine)
    return reader.read()
  }

  private init(bytes: [UInt8], line: Int) {
    self.bytes = bytes
    self.line = line
  }

  private mutating func read() -> [Statement] {
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"):
        skipLine()
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"):
        skipBlockComment()
      case UInt8(ascii: "'"):
        let escapes =
          offset > 0 && (bytes[offset - 1] | 0x20) == UInt8(ascii: "e") && !isWord(offset - 2)
        begin()
        skipQuoted(by: byte, escapes: escapes)
      case UInt8(ascii: "\""):
        begin()
        skipQuoted(by: byte, escapes: false)
      case UInt8(ascii: "$"):
        begin()
        skipDollarQuoted()
      case UInt8(ascii: ";"):
        end()
        step()
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        step()
      default:
        begin()
        step()
      }
    }
    end()
    return statements
  }

  private func peek(_ ahead: Int = 0) -> UInt8? {
    offset + ahead < bytes.count ? bytes[offset + ahead] : nil
  }

  private mutating func step() {
    if bytes[offset] == UInt8(ascii: "\n") { line += 1 }
    offset += 1
  }

  private mutating func begin() {
    guard start == nil else { return }
    start = offset
    startLine = line
  }

  private mutating func end() {
    guard let start else { return }
    var text = String(decoding: bytes[start..<offset], as: UTF8.self)
    while let last = text.last, last.isWhitespace { text.removeLast() }
    statements.append(Statement(text: text, line: startLine))
    self.start = nil
  }

  private mutating func skipLine() {
    while let byte = peek(), byte != UInt8(ascii: "\n") { step() }
  }

  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      if peek() == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
        depth += 1
        step()
      } else if peek() == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
        depth -= 1
        step()
      }
      step()
    } while depth > 0 && offset < bytes.count
  }

  /// A doubled quote is read as the end of one string and the begin of the next: same result.
  private mutating func skipQuoted(by quote: UInt8, escapes: Bool) {
    step()
    while let byte = peek(), byte != quote {
      if escapes, byte == UInt8(ascii: "\\"), peek(1) != nil { step() }
      step()
    }
    if peek() != nil { step() }
  }

  /// `$tag$ … $tag$`; `$1` and a `$` inside a name are not quotes.
  private mutating func skipDollarQuoted() {
    var end = offset + 1
    while end < bytes.count, isWord(end) { end += 1 }
    let opens =
      end < bytes.count && bytes[end] == UInt8(ascii: "$") && !isWord(offset - 1)
      && !(peek(1)?.isASCIIDigit ?? false)
    guard opens else { return step() }
    let tag = Array(bytes[offset...end])
    for _ in tag { step() }
    while offset < bytes.count {
      if bytes[offset...].starts(with: tag) {
        for _ in tag { step() }
        return
      }
      step()
    }
  }

  private func isWord(_ index: Int) -> Bool {
    guard bytes.indices.contains(index) else { return false }
    switch bytes[index] {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...0xFF:
      return true
    default: return false
    }
  }
}

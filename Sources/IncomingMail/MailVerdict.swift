/// What the mail server that has received a message says about its author: the results of SPF, DKIM
/// and DMARC in `Authentication-Results` (RFC 8601). Only the field of the server that the settings
/// name counts, and of these the topmost: anybody can write such fields.
struct MailVerdict: Sendable, Equatable {
  /// Such as `pass`, `fail` and `none`; empty: nothing was said.
  var spf = ""
  var dkim = ""
  var dmarc = ""

  private static let resultCharactersMax = 20

  init() {}

  /// - Parameters:
  ///   - fields: the values of the header fields, the topmost first.
  ///   - server: its `authserv-id`; nil: none is trusted.
  init(_ fields: [String], of server: String?) {
    guard let server,
      let field = fields.first(where: { MailVerdict.server(of: $0) == server.lowercased() })
    else { return }
    for statement in MailVerdict.withoutComments(field).split(separator: ";").dropFirst() {
      // `dkim=pass header.d=example.com`; of several signatures, one that holds counts.
      guard let word = statement.split(whereSeparator: \.isWhitespace).first,
        let mark = word.firstIndex(of: "=")
      else { continue }
      let result = String(
        word[word.index(after: mark)...].lowercased().filter { $0.isASCII && $0.isLetter }
          .prefix(MailVerdict.resultCharactersMax))
      switch word[..<mark].lowercased() {
      case "spf": if spf.isEmpty { spf = result }
      case "dkim": if dkim != "pass" { dkim = result }
      case "dmarc": if dmarc.isEmpty { dmarc = result }
      default: break
      }
    }
  }

  /// For people: `spf=pass dkim=none dmarc=pass`; empty without any.
  var text: String {
    results.map { "\($0)=\($1)" }.joined(separator: " ")
  }

  /// The mechanisms of which something was said, with their results.
  var results: [(name: String, value: String)] {
    [("spf", spf), ("dkim", dkim), ("dmarc", dmarc)].filter { !$0.1.isEmpty }
  }

  /// Whether the author's domain has confirmed the message.
  var isPassed: Bool { dmarc == "pass" }

  /// The word before the first semicolon, without a version behind it.
  private static func server(of field: String) -> String {
    withoutComments(field).prefix { $0 != ";" }.split(whereSeparator: \.isWhitespace).first?
      .lowercased() ?? ""
  }

  /// Without comments, which may be nested (RFC 5322 §3.2.2), and quoted strings, whose words come
  /// from the author. What does not end hides the rest.
  private static func withoutComments(_ field: String) -> String {
    var kept = ""
    var depth = 0
    var isQuoted = false
    var isEscaped = false
    for character in field {
      if isEscaped {
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if isQuoted {
        isQuoted = character != "\""
      } else if character == "(" {
        depth += 1
      } else if depth > 0 {
        if character == ")" { depth -= 1 }
      } else if character == "\"" {
        isQuoted = true
      } else {
        kept.append(character)
      }
    }
    return kept
  }
}

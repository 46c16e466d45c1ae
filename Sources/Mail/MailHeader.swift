/// Header fields of a message (RFC 5322 §2.2), whose values come from people: no text can begin
/// another field, since control characters are replaced and texts that are not plain ASCII become
/// encoded words (RFC 2047).
import Directory
import Primitives

/// A mailbox that mail can be sent to.
public struct MailAddress: Sendable, Equatable {
  /// Characters of a name; more are cut.
  private static let nameCharactersMax = 100

  /// Empty: none.
  public var name: String
  public let address: String

  /// Nil for an address that cannot stand in an envelope and a header as it is: with characters
  /// outside ASCII (RFC 6531, which few servers speak), with quotes, or longer than SMTP allows.
  public init?(_ address: String, name: String = "") {
    guard MailAddress.isSendable(address) else { return nil }
    self.address = address
    self.name = name
  }

  public static func isSendable(_ text: String) -> Bool {
    WorkspaceSettings.Mail.isAddress(text)
  }

  public var local: String { String(address.prefix { $0 != "@" }) }

  public var domain: String { String(address.drop { $0 != "@" }.dropFirst()) }

  /// `a…@example.com`, for those who shall recognise it and not read it.
  public var masked: String { "\(address.prefix(1))…@\(domain)" }

  var headerText: String {
    let shown = String(name.trimmingControls.prefix(MailAddress.nameCharactersMax))
    guard !shown.isEmpty else { return address }
    return "\(MailHeader.phrase(shown)) <\(address)>"
  }
}

enum MailHeader {
  /// RFC 2047 §2 allows 75; the first one stands on the line of the field's name.
  private static let encodedWordBytesMax = 64
  /// RFC 5322 §2.1.1 recommends at most 78 characters a line.
  private static let lineBytes = 76

  /// `Name: value`, folded where it has spaces.
  static func field(_ name: StaticString, _ value: String) -> String {
    var lines: [String] = []
    var line = "\(name):"
    for word in value.split(separator: " ") {
      if line.utf8.count + 1 + word.utf8.count > lineBytes, !line.hasSuffix(":") {
        lines.append(line)
        line = ""
      }
      line += " " + word
    }
    return (lines + [line]).joined(separator: "\r\n") + "\r\n"
  }

  /// A field of free text, such as the subject.
  static func textField(_ name: StaticString, _ text: String) -> String {
    let clean = text.trimmingControls
    return field(name, isPlain(clean) ? clean : encodedWords(clean))
  }

  /// A display name: a quoted string, or encoded words.
  static func phrase(_ name: String) -> String {
    guard isPlain(name) else { return encodedWords(name) }
    let escaped = name.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
    return "\"\(escaped)\""
  }

  /// Whether it can stand as it is: printable ASCII whose words fit into a line, that nobody takes
  /// for an encoded word.
  private static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } && !text.contains("=?")
      && !text.contains("  ") && text.split(separator: " ").allSatisfy { $0.utf8.count <= 60 }
  }

  /// `=?utf-8?B?…?=`, as many as are needed; spaces between them are not shown (RFC 2047 §6.2). A
  /// word never ends within a character.
  private static func encodedWords(_ text: String) -> String {
    let room = (encodedWordBytesMax - "=?utf-8?B??=".utf8.count) / 4 * 3
    var words: [String] = []
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      let next = Array(String(scalar).utf8)
      if bytes.count + next.count > room {
        words.append(encodedWord(bytes))
        bytes = []
      }
      bytes += next
    }
    words.append(encodedWord(bytes))
    return words.joined(separator: " ")
  }

  private static func encodedWord(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    Base64.standard.append(bytes, padded: true, to: &text)
    return "=?utf-8?B?\(String(decoding: text, as: UTF8.self))?="
  }
}

extension String {
  /// Each control character and line separator as a space, without blanks at the ends.
  var trimmingControls: String {
    let spaced = String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar in
          switch scalar.value {
          case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: " "
          // Marks that change the order of the text around them (Unicode TR 36 §3).
          case 0x202A...0x202E, 0x2066...0x2069: " "
          default: scalar
          }
        }))
    return String(spaced.trimmingBlanks)
  }
}

/// A message as bytes for SMTP (RFC 5322, RFC 2045 to 2047): plain text and HTML as alternatives,
/// in UTF-8 as quoted-printable. The same content gives the same bytes at each attempt.
public import Primitives

public struct MIMEMessage {
  /// The row of the outbox, from which Message-ID and boundary follow.
  var id: Identifier
  var date: WallTime
  /// The domain of Message-ID: that of the gateway's own address.
  var domain: String
  /// The gateway's own address, the sender in the envelope.
  var envelope: MailAddress
  var content: MailContent

  var messageID: String { MIMEMessage.messageID(of: id, domain: domain) }

  static func messageID(of id: Identifier, domain: String) -> String { "<\(id)@\(domain)>" }

  /// The message to which all mail of a conversation refers, so that clients show it as a thread.
  /// It was never sent (RFC 5322 §3.6.4 allows that).
  static func threadID(of session: Identifier, domain: String) -> String {
    "<conversation.\(session)@\(domain)>"
  }

  /// What an id of ours, without angle brackets, refers to; nil: it is none of this domain's.
  public enum Reference: Sendable, Equatable {
    case message(Identifier)
    case conversation(Identifier)
  }

  public static func reference(_ id: String, domain: String) -> Reference? {
    let parts = id.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].lowercased() == domain.lowercased() else { return nil }
    let thread = "conversation."
    if parts[0].hasPrefix(thread) {
      return Identifier(String(parts[0].dropFirst(thread.count))).map { .conversation($0) }
    }
    return Identifier(String(parts[0])).map { .message($0) }
  }

  var bytes: [UInt8] {
    let boundary = "=_chirrup_\(id)"
    var text = headers
    text += "MIME-Version: 1.0\r\n"
    text += "Content-Type: multipart/alternative;\r\n boundary=\"\(boundary)\"\r\n\r\n"
    for (type, body) in [("plain", content.text), ("html", content.html)] {
      text += "--\(boundary)\r\nContent-Type: text/\(type); charset=utf-8\r\n"
      text += "Content-Transfer-Encoding: quoted-printable\r\n\r\n"
      text += String(decoding: QuotedPrintable.encode(body), as: UTF8.self)
      text += "\r\n"
    }
    text += "--\(boundary)--\r\n"
    return Array(text.utf8)
  }

  private var headers: String {
    let from = content.from ?? envelope
    var shown = MailAddress(from.address, name: content.fromName) ?? envelope
    if content.fromName.isEmpty { shown.name = from.name }
    var date: [UInt8] = []
    self.date.appendHTTPDate(to: &date)
    var text = MailHeader.field(
      "Date", String(decoding: date, as: UTF8.self).replacing("GMT", with: "+0000"))
    text += MailHeader.field("From", shown.headerText)
    if shown.address != envelope.address {
      text += MailHeader.field("Sender", envelope.address)
    }
    if let replyTo = content.replyTo { text += MailHeader.field("Reply-To", replyTo.address) }
    text += MailHeader.field("To", content.to.headerText)
    text += MailHeader.textField("Subject", content.subject)
    text += MailHeader.field("Message-ID", messageID)
    if let session = content.session {
      let thread = MIMEMessage.threadID(of: session, domain: domain)
      text += MailHeader.field("In-Reply-To", thread)
      text += MailHeader.field("References", thread)
    }
    // RFC 3834 §5, and what Exchange wants for the same.
    text += "Auto-Submitted: auto-generated\r\nX-Auto-Response-Suppress: All\r\n"
    if let url = content.unsubscribe {
      text += MailHeader.field("List-Unsubscribe", "<\(url)>")
      text += "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
    }
    return text
  }
}

/// RFC 2045 §6.7.
enum QuotedPrintable {
  private static let lineBytes = 76

  static func encode(_ text: String) -> [UInt8] {
    var encoded: [UInt8] = []
    var column = 0
    let bytes = Array(text.utf8)
    for (index, byte) in bytes.enumerated() {
      if byte == 0x0A {
        encoded += [0x0D, 0x0A]
        column = 0
        continue
      }
      if byte == 0x0D { continue }
      let isLast = index + 1 == bytes.count || bytes[index + 1] == 0x0A || bytes[index + 1] == 0x0D
      let isBlank = byte == 0x20 || byte == 0x09
      let isPlain = byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "=") || isBlank && !isLast
      let width = isPlain ? 1 : 3
      // One column remains for the `=` of a soft line break.
      if column + width > lineBytes - 1 {
        encoded += [UInt8(ascii: "="), 0x0D, 0x0A]
        column = 0
      }
      if isPlain {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "="), digit(byte >> 4), digit(byte & 15)]
      }
      column += width
    }
    return encoded
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}

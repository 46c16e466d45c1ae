/// The address to which answers to a message come: `chat+r.TOKEN@example.com`. The token names the
/// conversation, and a code of the gateways' keys shows that they made it.
///
/// The token is in base32, since mail servers may change the case of an address. Its parts fit the
/// 64 bytes that the local part of an address may have (RFC 5321 §4.5.3.1.1).
public import Directory
public import Primitives

public struct ReplyAddress: Sendable, Equatable {
  /// What stands between the mailbox and the token (RFC 5233: subaddresses).
  static let mark = "+r."
  /// 80 bits: it can only be guessed by sending messages.
  static let codeBytes = 10
  static let tokenCharacters = ((16 + codeBytes) * 8 + 4) / 5
  /// What is left for the mailbox's own local part.
  public static let localBytesMax = 64 - mark.utf8.count - tokenCharacters

  /// A token of an address that was written to, which anybody may have made up.
  public struct Token: Sendable, Equatable {
    public var session: Identifier
    var code: [UInt8]

    public func isAuthentic(in workspace: Identifier, by secrets: SecretBox) -> Bool {
      secrets.recognises(
        ReplyAddress.signedText(session, workspace), byBeginning: code)
    }
  }

  /// The address of the mailbox.
  public let mailbox: MailAddress

  /// Nil if a token has no place in its local part.
  public init?(_ mailbox: MailAddress) {
    guard mailbox.local.utf8.count <= ReplyAddress.localBytesMax else { return nil }
    self.mailbox = mailbox
  }

  public func address(
    of session: Identifier, in workspace: Identifier, by secrets: SecretBox
  ) -> MailAddress? {
    var bytes: [UInt8] = []
    session.appendBytes(to: &bytes)
    bytes += secrets.digest(of: ReplyAddress.signedText(session, workspace))
      .prefix(ReplyAddress.codeBytes)
    let token = Base32.encode(bytes).lowercased()
    return MailAddress("\(mailbox.local)\(ReplyAddress.mark)\(token)@\(mailbox.domain)")
  }

  /// Nil for another address.
  public func token(in address: String) -> Token? {
    let address = address.lowercased()
    let (start, end) = (
      "\(mailbox.local)\(ReplyAddress.mark)".lowercased(), "@\(mailbox.domain)".lowercased()
    )
    guard address.hasPrefix(start), address.hasSuffix(end),
      address.utf8.count == start.utf8.count + ReplyAddress.tokenCharacters + end.utf8.count,
      let bytes = ReplyAddress.decode(
        address.utf8.dropFirst(start.utf8.count).prefix(ReplyAddress.tokenCharacters))
    else { return nil }
    func word(_ at: Int) -> UInt64 { bytes[at..<at + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    return Token(session: Identifier(high: word(0), low: word(8)), code: Array(bytes[16...]))
  }

  /// Whether it is the mailbox's own address, with or without a token.
  public func isOwn(_ address: String) -> Bool {
    address.lowercased() == mailbox.address.lowercased() || token(in: address) != nil
  }

  /// Codes for other purposes differ.
  private static func signedText(_ session: Identifier, _ workspace: Identifier) -> [UInt8] {
    var bytes = Array("reply:".utf8)
    workspace.appendBytes(to: &bytes)
    session.appendBytes(to: &bytes)
    return bytes
  }

  /// Base32 of lower-case letters; the spare bits do not count.
  private static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (bits, count) = (0, 0)
    for digit in text {
      switch digit {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): bits = bits << 5 | Int(digit - UInt8(ascii: "a"))
      case UInt8(ascii: "2")...UInt8(ascii: "7"):
        bits = bits << 5 | Int(digit - UInt8(ascii: "2") + 26)
      default: return nil
      }
      count += 5
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        bits &= 1 << count - 1
      }
    }
    return bytes
  }
}

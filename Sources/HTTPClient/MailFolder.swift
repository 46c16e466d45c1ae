/// A folder of a mailbox (IMAP, RFC 3501) with libcurl: commands one after another over a
/// connection that is kept until `disconnect`. The server's certificate is verified.
import CCurl

/// How to reach the folder.
public struct MailFolderAddress: Sendable, Equatable {
  /// `imaps://host/INBOX` or `imap://host/INBOX`.
  public var url: String
  public var user: String
  public var password: String
  /// Whether a connection to imap:// turns to TLS (STARTTLS).
  public var security: MailServerAddress.Security
  /// A PEM file of certificates to trust instead of the system's.
  public var authority: String?
  /// The time limit of one command.
  public var milliseconds: Int

  public init(
    url: String, user: String, password: String, security: MailServerAddress.Security,
    authority: String?, milliseconds: Int
  ) {
    self.url = url
    self.user = user
    self.password = password
    self.security = security
    self.authority = authority
    self.milliseconds = milliseconds
  }
}

public enum MailFolderFault: Error, Sendable, Equatable {
  /// No command can succeed now: the server cannot be reached, or refuses the log-in or the folder.
  case unreachable(reason: String)
  /// The server refuses this command.
  case refused(reason: String)
  /// There is no such message any longer.
  case gone
  /// The message has more bytes than allowed.
  case tooLarge
  /// `goesOn` has returned false.
  case stopped
}

public struct MailFolder: ~Copyable {
  /// Bytes of the answer to a command.
  static let answerBytesMax = 1 << 20

  private let address: MailFolderAddress
  private var multi = MultiHandle(connectionsMax: 1)
  /// The folder's UIDVALIDITY, as of its selection: numbers of messages hold as long as it does.
  /// Nil before the first command.
  public private(set) var validity: String?

  public init(_ address: MailFolderAddress) { self.address = address }

  /// The untagged lines of the answer to a command such as `UID SEARCH UNDELETED`.
  ///
  /// - Parameter goesOn: is called twice a second.
  public mutating func run(
    _ command: String, goesOn: () -> Bool
  ) throws(MailFolderFault) -> [String] {
    let answer = try perform(
      address.url, command, bytesMax: MailFolder.answerBytesMax, goesOn: goesOn)
    return String(decoding: answer, as: UTF8.self).split(whereSeparator: \.isNewline)
      .map(String.init)
  }

  /// For `numbers`: all messages, but those that were marked as deleted.
  public static let waiting = "UNDELETED"

  /// The numbers (UID) of the messages that a search finds, in any order.
  public mutating func numbers(
    of search: String, goesOn: () -> Bool
  ) throws(MailFolderFault) -> [UInt32] {
    try run("UID SEARCH \(search)", goesOn: goesOn)
      .filter { $0.hasPrefix("* SEARCH") }.flatMap { $0.split(separator: " ") }
      .compactMap { UInt32($0) }
  }

  /// The bytes of a message. The server marks it as read.
  public mutating func message(
    _ number: UInt32, bytesMax: Int, goesOn: () -> Bool
  ) throws(MailFolderFault) -> [UInt8] {
    try perform("\(address.url)/;UID=\(number)", nil, bytesMax: bytesMax, goesOn: goesOn)
  }

  /// Ends the connection.
  public mutating func disconnect() {
    multi = MultiHandle(connectionsMax: 1)
    validity = nil
  }

  /// Waits, at most until the descriptor `wakeup` is readable.
  public func idle(milliseconds: Int32, wakeup: Int32) {
    multi.wait(milliseconds: milliseconds, wakeup: wakeup)
  }

  private mutating func perform(
    _ url: String, _ command: String?, bytesMax: Int, goesOn: () -> Bool
  ) throws(MailFolderFault) -> [UInt8] {
    guard let transfer = FolderTransfer(address, url: url, command: command, bytesMax: bytesMax),
      unsafe multi.add(transfer.raw)
    else { throw .unreachable(reason: "the mailbox's address is not accepted") }
    defer { unsafe multi.remove(transfer.raw) }
    while goesOn() {
      _ = multi.perform()
      if let (_, result) = multi.takeEnded() {
        validity = transfer.validity ?? validity
        return try transfer.answer(result)
      }
      multi.wait(milliseconds: 500, wakeup: nil)
    }
    throw .stopped
  }
}

/// One command in progress. libcurl has `self` as the argument of its callbacks, which run only
/// inside the calls of `MailFolder.perform`.
@safe private final class FolderTransfer {
  /// Bytes of a server's line that are looked at.
  private static let lineBytesMax = 300

  let raw: UnsafeMutableRawPointer
  private let isMessage: Bool
  private let bytesMax: Int
  private var bytes: [UInt8] = []
  private var isTooLarge = false
  private(set) var validity: String?
  /// The last refusal of the server: `NO [AUTHENTICATIONFAILED] Wrong password`.
  private var refusal = ""

  /// Nil when libcurl rejects an option.
  init?(_ folder: MailFolderAddress, url: String, command: String?, bytesMax: Int) {
    guard MultiHandle.isReady, let made = unsafe curl_easy_init() else { return nil }
    unsafe raw = made
    isMessage = command == nil
    self.bytesMax = bytesMax
    let security =
      switch folder.security {
      case .required: CURLUSESSL_ALL
      case .optional: CURLUSESSL_TRY
      case .off: CURLUSESSL_NONE
      }
    // SAFETY: all texts are copied; about `self` see the type's comment.
    let isTaken = unsafe chirrup_curl_mailbox(
      raw, url, command, folder.user, folder.password, Int(security.rawValue), folder.authority,
      min(MailServer.connectMilliseconds, folder.milliseconds), folder.milliseconds,
      Unmanaged.passUnretained(self).toOpaque(), writeAnswer, readLine)
    guard isTaken == 1 else { return nil }
  }

  deinit {
    // SAFETY: owned here, and removed from the multi handle before.
    unsafe curl_easy_cleanup(raw)
  }

  func answer(_ result: CURLcode) throws(MailFolderFault) -> [UInt8] {
    switch result {
    case CURLE_OK: return bytes
    case CURLE_REMOTE_FILE_NOT_FOUND where isMessage: throw .gone
    case CURLE_QUOTE_ERROR:
      throw .refused(reason: refusal.isEmpty ? "the server gives no reason" : refusal)
    case CURLE_WRITE_ERROR where isTooLarge: throw .tooLarge
    default:
      // SAFETY: a constant text of libcurl.
      let general = unsafe String(cString: curl_easy_strerror(result))
      throw .unreachable(reason: refusal.isEmpty ? general : "\(general): \(refusal)")
    }
  }

  // MARK: Callbacks

  fileprivate func write(_ piece: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count + piece.count <= bytesMax else {
      isTooLarge = true
      return false
    }
    unsafe bytes.append(contentsOf: piece)
    return true
  }

  /// Keeps what the server says when it refuses (RFC 3501 §7.1): other lines follow that, such as
  /// the answer to a log-out. Addresses are left out, since the text is shown to people.
  fileprivate func read(line: UnsafeRawBufferPointer) {
    let text = unsafe String(
      decoding: line.prefix(FolderTransfer.lineBytesMax), as: UTF8.self)
    let words = text.split(maxSplits: 1, whereSeparator: { $0.isWhitespace })
    let rest = words.count > 1 ? words[1] : ""
    let isUntagged = words.first == "*"
    // The tagged line is the answer to the command; an untagged one counts without it. A farewell
    // may also be that of a log-out.
    if ["NO ", "BAD ", "BYE "].contains(where: { rest.uppercased().hasPrefix($0) }),
      !isUntagged || refusal.isEmpty
    {
      refusal = FolderTransfer.shown(rest)
    }
    let mark = "[UIDVALIDITY "
    guard let start = text.firstRange(of: mark)?.upperBound else { return }
    let digits = text[start...].prefix { ("0"..."9") ~= $0 }
    if !digits.isEmpty { validity = String(digits) }
  }

  private static func shown(_ text: Substring) -> String {
    text.split(whereSeparator: \.isWhitespace).map { word in
      word.contains("@")
        ? "…" : String(word.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F })
    }.joined(separator: " ")
  }
}

private let writeAnswer: curl_write_callback = { bytes, size, count, owner in
  guard let owner = unsafe owner else { return 0 }
  // SAFETY: the owner is the transfer that was given with the callback, and is alive; libcurl gives
  // `size * count` bytes.
  let transfer = unsafe Unmanaged<FolderTransfer>.fromOpaque(owner).takeUnretainedValue()
  let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
  return unsafe transfer.write(piece) ? size * count : 0
}

private let readLine: curl_write_callback = { bytes, size, count, owner in
  guard let owner = unsafe owner else { return 0 }
  // SAFETY: as above.
  let transfer = unsafe Unmanaged<FolderTransfer>.fromOpaque(owner).takeUnretainedValue()
  unsafe transfer.read(line: UnsafeRawBufferPointer(start: bytes, count: size * count))
  return size * count
}

/// Messages to a mail server (SMTP, RFC 5321) with libcurl, one after another over a connection
/// that is kept. The server's certificate is verified.
import CCurl

/// How to reach the mail server.
public struct MailServerAddress: Sendable, Equatable {
  public enum Security: Sendable { case required, optional, off }

  /// `smtp://host:587` or `smtps://host:465`, with the name for EHLO as its path.
  public var url: String
  public var user: String?
  public var password: String?
  /// Whether a connection to smtp:// turns to TLS (STARTTLS, RFC 3207).
  public var security: Security
  /// A PEM file of certificates to trust instead of the system's.
  public var authority: String?
  /// The time limit of one message.
  public var milliseconds: Int

  public init(
    url: String, user: String?, password: String?, security: Security, authority: String?,
    milliseconds: Int
  ) {
    self.url = url
    self.user = user
    self.password = password
    self.security = security
    self.authority = authority
    self.milliseconds = milliseconds
  }
}

/// The result of one message.
public enum MailOutcome: Sendable, Equatable {
  /// The server has taken responsibility for the message (RFC 5321 §4.2.5).
  case accepted
  /// The server refuses this message for good, with a reply of 5yz.
  case refused(reason: String)
  /// The server has not taken this message, or it is not known whether it has: worth a repetition.
  case failed(reason: String)
  /// No message can be sent now: the server cannot be reached, or refuses the sender.
  case unreachable(reason: String)
}

/// The result of a connection that sends no message.
public enum MailCheck: Sendable, Equatable {
  /// - Parameter isSecure: whether the connection has TLS.
  case passed(isSecure: Bool)
  /// Nobody answers, or not as a mail server.
  case connection(reason: String)
  /// There is no TLS, or the certificate is not trusted.
  case security(reason: String)
  /// The server refuses user and password.
  case login(reason: String)
}

public struct MailServer: ~Copyable {
  /// The time limit of name resolution, connection and TLS.
  static let connectMilliseconds = 15_000

  public var address: MailServerAddress
  private let multi = MultiHandle(connectionsMax: 1)

  public init(_ address: MailServerAddress) { self.address = address }

  /// Sends a message. Nil: `goesOn`, which is called twice a second, has returned false; whether
  /// the server has the message is not known.
  public func send(
    _ message: [UInt8], from sender: String, to recipient: String,
    goesOn: () -> Bool = { true }
  ) -> MailOutcome? {
    guard
      let transfer = MailTransfer(address, message: message, from: sender, to: recipient),
      unsafe multi.add(transfer.raw)
    else { return .unreachable(reason: "the mail server's address is not accepted") }
    defer { unsafe multi.remove(transfer.raw) }
    while goesOn() {
      _ = multi.perform()
      if let (_, result) = multi.takeEnded() { return transfer.outcome(result) }
      multi.wait(milliseconds: 500, wakeup: nil)
    }
    return nil
  }

  /// Connects and logs in as for a message, and sends none.
  public func check() -> MailCheck {
    guard
      let transfer = MailTransfer(address, message: [], from: "", to: ""), transfer.sendsNothing(),
      unsafe multi.add(transfer.raw)
    else { return .connection(reason: "the mail server's address is not accepted") }
    defer { unsafe multi.remove(transfer.raw) }
    while true {
      _ = multi.perform()
      if let (_, result) = multi.takeEnded() { return transfer.check(result) }
      multi.wait(milliseconds: 500, wakeup: nil)
    }
  }

  /// Waits, at most until the descriptor `wakeup` is readable. The kept connection stays.
  public func idle(milliseconds: Int32, wakeup: Int32) {
    multi.wait(milliseconds: milliseconds, wakeup: wakeup)
  }
}

/// One message in progress. libcurl has `self` as the argument of its callbacks, which run only
/// inside the calls of `MailServer.send`.
@safe final class MailTransfer {
  /// How far the conversation with the server has come.
  private enum Stage { case session, sender, recipient, data }

  /// Bytes of a server's reply that are kept.
  private static let replyBytesMax = 300

  let raw: UnsafeMutableRawPointer
  private let recipients: UnsafeMutablePointer<curl_slist>?
  /// Whether the conversation has turned to TLS.
  private var isSecure: Bool
  private let message: [UInt8]
  private var position = 0
  private var stage = Stage.session
  private var reply = ""
  /// libcurl takes leave after a refusal; the answer to that is not the one that counts.
  private var hasQuit = false

  /// Nil when libcurl rejects an option.
  init?(_ server: MailServerAddress, message: [UInt8], from sender: String, to recipient: String) {
    guard MultiHandle.isReady, let made = unsafe curl_easy_init() else { return nil }
    unsafe raw = made
    self.message = message
    isSecure = server.url.hasPrefix("smtps:")
    // SAFETY: the text is copied; the list is freed in `deinit`.
    unsafe recipients = curl_slist_append(nil, recipient)
    let security =
      switch server.security {
      case .required: CURLUSESSL_ALL
      case .optional: CURLUSESSL_TRY
      case .off: CURLUSESSL_NONE
      }
    // SAFETY: all texts are copied; the list lives as long as the handle; about `self` see the
    // type's comment.
    let isTaken = unsafe chirrup_curl_mail(
      raw, server.url, server.user, server.password, Int(security.rawValue), server.authority,
      sender, recipients, message.count,
      min(MailServer.connectMilliseconds, server.milliseconds), server.milliseconds,
      Unmanaged.passUnretained(self).toOpaque(), readMessage, watchServer, ignoreBytes)
    guard isTaken == 1 else { return nil }
  }

  deinit {
    // SAFETY: owned here, and removed from the multi handle before.
    unsafe curl_easy_cleanup(raw)
    unsafe curl_slist_free_all(recipients)
  }

  /// Turns this transfer into one that only connects and logs in.
  // SAFETY: the handle is alive, and libcurl copies the text.
  func sendsNothing() -> Bool { unsafe chirrup_curl_mail_noop(raw) == 1 }

  /// The result of a transfer without a message.
  func check(_ result: CURLcode) -> MailCheck {
    if result == CURLE_OK { return .passed(isSecure: isSecure) }
    // SAFETY: a constant text of libcurl.
    let general = unsafe String(cString: curl_easy_strerror(result))
    switch result {
    case CURLE_LOGIN_DENIED:
      return .login(reason: reply.hasPrefix("5") || reply.hasPrefix("4") ? reply : general)
    case CURLE_USE_SSL_FAILED, CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER:
      return .security(reason: general)
    default:
      let isReply = reply.hasPrefix("5") || reply.hasPrefix("4")
      return .connection(reason: isReply && result != CURLE_OPERATION_TIMEDOUT ? reply : general)
    }
  }

  func outcome(_ result: CURLcode) -> MailOutcome {
    if result == CURLE_OK { return .accepted }
    // SAFETY: a constant text of libcurl.
    let general = unsafe String(cString: curl_easy_strerror(result))
    let code = reply.first.flatMap { Int(String($0)) } ?? 0
    let isReply = (code == 4 || code == 5) && result != CURLE_OPERATION_TIMEDOUT
    let reason = isReply ? reply : general
    switch stage {
    case .session: return .unreachable(reason: reason)
    // The sender is the same for all messages; only the announced size is this message's.
    case .sender:
      return reply.hasPrefix("552") ? .refused(reason: reason) : .unreachable(reason: reason)
    case .recipient, .data:
      return isReply && code == 5 ? .refused(reason: reason) : .failed(reason: reason)
    }
  }

  // MARK: Callbacks

  fileprivate func read(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(room.count, message.count - position)
    // SAFETY: the room has `count` bytes, and so has the message from its position.
    unsafe message.withUnsafeBytes { bytes in
      unsafe room.copyMemory(
        from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count]))
    }
    position += count
    return count
  }

  /// A command of ours. Those of the authentication are not looked at.
  fileprivate func sent(_ bytes: UnsafeRawBufferPointer) {
    let line = unsafe String(decoding: bytes.prefix(10), as: UTF8.self)
    if line.hasPrefix("MAIL FROM:") {
      stage = .sender
    } else if line.hasPrefix("RCPT TO:") {
      stage = .recipient
    } else if line.hasPrefix("DATA") {
      stage = .data
    } else if line.hasPrefix("STARTTLS") {
      isSecure = true
    } else if line.hasPrefix("QUIT") || line.hasPrefix("RSET") {
      hasQuit = true
    }
  }

  /// A line of the server. Addresses in it are left out: it is shown to people.
  fileprivate func received(_ bytes: UnsafeRawBufferPointer) {
    guard !hasQuit else { return }
    let text = unsafe String(decoding: bytes.prefix(MailTransfer.replyBytesMax), as: UTF8.self)
    reply = text.split(whereSeparator: { $0.isWhitespace })
      .map { $0.contains("@") ? "…" : String($0.filter { !$0.isControl }) }
      .joined(separator: " ")
  }
}

extension Character {
  fileprivate var isControl: Bool {
    unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
  }
}

private let readMessage: curl_read_callback = { room, size, count, owner in
  guard let owner = unsafe owner else { return 0 }
  // SAFETY: the owner is the transfer that was given with the callback, and is alive; libcurl gives
  // room for `size * count` bytes.
  let transfer = unsafe Unmanaged<MailTransfer>.fromOpaque(owner).takeUnretainedValue()
  return unsafe transfer.read(
    into: UnsafeMutableRawBufferPointer(start: room, count: size * count))
}

private let watchServer: curl_debug_callback = { _, kind, bytes, count, owner in
  guard let owner = unsafe owner else { return 0 }
  // SAFETY: as above; libcurl gives `count` bytes.
  let transfer = unsafe Unmanaged<MailTransfer>.fromOpaque(owner).takeUnretainedValue()
  let line = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
  if kind == CURLINFO_HEADER_OUT {
    unsafe transfer.sent(line)
  } else if kind == CURLINFO_HEADER_IN {
    unsafe transfer.received(line)
  }
  return 0
}

private let ignoreBytes: curl_write_callback = { _, size, count, _ in size * count }

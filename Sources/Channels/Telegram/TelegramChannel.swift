/// Telegram's Bot API: requests, and what their answers mean. https://core.telegram.org/bots/api
///
/// The bot's token is a part of each URL, so no URL may get into a log, a reason or an error.
import Directory
public import HTTPClient
import JSON
import OpenSSL
import Primitives

public struct TelegramChannel: Channel {
  public init() {}

  public let name = "telegram"
  public let signingCredential = "webhook_secret"
  public let sendingCredential = "bot_token"
  public let signatureHeader = "X-Telegram-Bot-Api-Secret-Token"

  /// There are no reply tokens, and nothing by which a repeated request is recognised.
  public let capabilities = ChannelCapabilities(
    typing: false, readMarks: false, buttons: true, attachments: true, textUnitsMax: 4_096,
    messagesPerRequest: 1, replySeconds: 0, replyAgainSeconds: 0, recognisesRepeats: false,
    retryHours: 24)

  /// The longest answer that is read: it repeats the message, with each character escaped.
  static let answerBytes = 131_072
  /// The longest reason that is kept of Telegram's words, in characters.
  static let reasonCharacters = 300
  /// The longest pause that Telegram may want, in seconds.
  static let pauseSecondsMax: Int64 = 3_600

  /// The header has the secret itself, which `setWebhook` was given.
  public func isAuthentic(_ body: [UInt8], signature: String, secret: [UInt8]) -> Bool {
    !secret.isEmpty && constantTimeEquals(Array(signature.utf8), secret)
  }

  // MARK: Sending

  public func requestCount(for message: OutboundMessage) -> Int {
    TelegramMessages.calls(for: message, unitsMax: capabilities.textUnitsMax).count
  }

  public func request(
    for message: OutboundMessage, part: Int, replyToken: String?, at base: String,
    secret: [UInt8], milliseconds: Int
  ) -> HTTPRequest {
    let call = TelegramMessages.calls(for: message, unitsMax: capabilities.textUnitsMax)[part]
    let members = call.members.merging(["chat_id": .number(message.address)]) { $1 }
    var request = request(call.method, .object(members), base, secret, milliseconds)
    // Sent twice, it would come twice.
    request.isSentOnce = true
    return request
  }

  public func verdict(
    on outcome: HTTPOutcome, wasSent: Bool, usedReplyToken: Bool, mayBeUsed: Bool
  ) -> SendVerdict {
    switch outcome {
    case .failed(let reason):
      return wasSent
        ? .unknown(reason: "Telegram's answer is missing: \(reason)")
        : .retry(reason: reason, seconds: 0, isUnknown: false)
    case .refused:
      return .retry(reason: "Telegram's address is not allowed", seconds: 0, isUnknown: false)
    case .answered(let status, let body, let retryAfter):
      let answer = JSONValue(body)
      if answer?["ok"]?.bool == true { return .sent }
      let reason = reason(status, answer)
      let wanted = answer?["parameters"]?["retry_after"]?.int.map { Int64($0) } ?? retryAfter
      let again = SendVerdict.retry(
        reason: reason, seconds: max(0, min(wanted, TelegramChannel.pauseSecondsMax)),
        isUnknown: false)
      guard answer?["ok"]?.bool == false else {
        // Of a server in between, which has refused it, or may have passed it on.
        return (300..<500).contains(status) || status == 503 ? again : .unknown(reason: reason)
      }
      switch status {
      // The token can be replaced; 404: it has not even the form of one.
      case 401, 404, 408, 429, 500...: return again
      default: return .failed(reason: reason)
      }
    }
  }

  /// Telegram's own words, without anything that looks like a token.
  private func reason(_ status: Int, _ answer: JSONValue?) -> String {
    let words = answer?["description"]?.string.map { ": \($0)" } ?? ""
    let text = "Telegram answered \(status)\(words)"
    return String(
      text.replacing(/[0-9]+:[0-9A-Za-z_-]{20,}/, with: "…")
        .prefix(TelegramChannel.reasonCharacters))
  }

  private func request(
    _ method: String, _ members: JSONValue, _ base: String, _ secret: [UInt8], _ milliseconds: Int
  ) -> HTTPRequest {
    let token = String(decoding: secret, as: UTF8.self).percentEncoded(allowing: ":")
    return HTTPRequest(
      url: "\(base)/bot\(token)/\(method)",
      headers: ["Content-Type: application/json", "User-Agent: Chirrup"], body: members.text,
      milliseconds: milliseconds, responseBytesMax: TelegramChannel.answerBytes)
  }

  // MARK: Profile and trial

  public func profileRequest(
    of address: String, at base: String, secret: [UInt8], milliseconds: Int
  ) -> HTTPRequest? {
    request("getChat", .object(["chat_id": .number(address)]), base, secret, milliseconds)
  }

  /// Pictures have URLs with the bot's token only.
  public func profile(in body: [UInt8]) -> ChannelProfile? {
    guard let chat = JSONValue(storable(body))?["result"],
      let first = chat["first_name"]?.string
    else { return nil }
    let name = [first, chat["last_name"]?.string].compactMap { $0 }.joined(separator: " ")
    return ChannelProfile(name: name, pictureURL: nil)
  }

  public func trialRequest(at base: String, secret: [UInt8], milliseconds: Int) -> HTTPRequest {
    request("getMe", .object([:]), base, secret, milliseconds)
  }

  public func accountName(in body: [UInt8]) -> String? {
    JSONValue(body)?["result"]?["username"]?.string.map { "@" + $0 }
  }
}

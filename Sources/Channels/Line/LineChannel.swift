/// LINE's Messaging API: signatures, requests, and what their answers mean.
import Directory
public import HTTPClient
import JSON
import OpenSSL
public import Primitives

public struct LineChannel: Channel {
  public init() {}

  public let name = "line"
  public let signingCredential = "channel_secret"
  public let sendingCredential = "channel_access_token"
  /// The import of a LINE back end makes visitors without one.
  public let visitorPrefix = ""
  public let signatureHeader = "X-Line-Signature"

  /// A reply token is valid for a minute. A first attempt must leave time for a second one, which
  /// finds out what became of the first: LINE takes a token once.
  public let capabilities = ChannelCapabilities(
    typing: false, readMarks: false, buttons: true, attachments: true, textUnitsMax: 5_000,
    messagesPerRequest: 5, replySeconds: 20, replyAgainSeconds: 50,
    recognisesRepeats: true, retryHours: 24)

  /// The longest answer that is read.
  static let answerBytes = 16_384
  /// The longest reason that is kept of LINE's words, in characters.
  static let reasonCharacters = 300

  public func isAuthentic(_ body: [UInt8], signature: String, secret: [UInt8]) -> Bool {
    // Base64 with padding, as LINE writes it.
    var expected: [UInt8] = []
    Base64.standard.append(
      HMACSHA256.code(for: body, key: secret), padded: true, to: &expected)
    return constantTimeEquals(Array(signature.utf8), expected)
  }

  // MARK: Contents

  public func contentFetch(
    _ content: InboundContent, at place: MenuPlace, secret: [UInt8], milliseconds: Int,
    downloadMilliseconds: Int
  ) -> (any ContentFetch)? {
    LineContentFetch(
      content, at: place, headers: headers(secret), milliseconds: milliseconds,
      downloadMilliseconds: downloadMilliseconds)
  }

  // MARK: Sending

  public func request(
    for message: OutboundMessage, part: Int, replyToken: String?, at base: String,
    secret: [UInt8], milliseconds: Int
  ) -> HTTPRequest {
    var headers = headers(secret)
    headers.append("Content-Type: application/json")
    let messages = LineMessages.messages(for: message, capabilities)
    let body = [UInt8].object { json in
      if let replyToken {
        json.appendMember("replyToken", replyToken)
      } else {
        json.appendMember("to", message.address)
      }
      json.appendMember("messages", json: JSONValue.array(messages).text)
    }
    // LINE refuses a retry key beside a reply token.
    if replyToken == nil { headers.append("X-Line-Retry-Key: \(message.id)") }
    var request = HTTPRequest(
      url: base + "/v2/bot/message/" + (replyToken == nil ? "push" : "reply"), headers: headers,
      body: body, milliseconds: milliseconds, responseBytesMax: LineChannel.answerBytes)
    // Sent twice, a reply would be refused the second time, as if the token were too old.
    request.isSentOnce = replyToken != nil
    return request
  }

  public func verdict(
    on outcome: HTTPOutcome, wasSent: Bool, usedReplyToken: Bool, mayBeUsed: Bool
  ) -> SendVerdict {
    guard case .answered(let status, let body, let retryAfter) = outcome else {
      if case .failed(let reason) = outcome {
        return .retry(reason: reason, seconds: 0, isUnknown: true)
      }
      return .retry(reason: "LINE's address is not allowed", seconds: 0, isUnknown: false)
    }
    switch status {
    case 200..<300: return .sent
    // It would be refused until the month's end, and the next messages too.
    case 429 where isQuotaUsed(body): return .failed(reason: reason(status, body))
    // LINE has taken the request with this retry key before.
    case 409 where !usedReplyToken: return .sent
    case 400 where usedReplyToken && isInvalidToken(body):
      // A token is taken once: after an attempt without an answer, that one was.
      return mayBeUsed ? .sent : .withoutReplyToken
    case 500...:
      return .retry(reason: reason(status, body), seconds: retryAfter, isUnknown: true)
    // The credential can be replaced.
    case 401, 408, 425, 429:
      return .retry(reason: reason(status, body), seconds: retryAfter, isUnknown: false)
    default: return .failed(reason: reason(status, body))
    }
  }

  private func isInvalidToken(_ body: [UInt8]) -> Bool {
    JSONValue(body)?["message"]?.string == "Invalid reply token"
  }

  /// Not a rate limit, which has the same status.
  private func isQuotaUsed(_ body: [UInt8]) -> Bool {
    JSONValue(body)?["message"]?.string?.hasPrefix("You have reached your monthly limit") == true
  }

  /// LINE's own words: `message`, and of its details the first.
  public func reason(_ status: Int, _ body: [UInt8]) -> String {
    let answer = JSONValue(body)
    let detail = answer?["details"]?.array?.first
    let words = [
      answer?["message"]?.string, detail?["message"]?.string, detail?["property"]?.string,
    ].compactMap { $0 }.joined(separator: ": ")
    let text = "LINE answered \(status)" + (words.isEmpty ? "" : ": \(words)")
    return String(text.prefix(LineChannel.reasonCharacters))
  }

  func headers(_ secret: [UInt8]) -> [String] {
    ["Authorization: Bearer " + String(decoding: secret, as: UTF8.self), "User-Agent: Chirrup"]
  }

  // MARK: Menus

  public func menuSync(
    _ menu: ChannelMenu?, in workspace: Identifier, at place: MenuPlace, secret: [UInt8],
    milliseconds: Int
  ) -> (any MenuSync)? {
    LineMenuSync(
      menu, in: workspace, at: place, headers: headers(secret), milliseconds: milliseconds)
  }

  // MARK: Profile and trial

  public func profileRequest(
    of address: String, at base: String, secret: [UInt8], milliseconds: Int
  ) -> HTTPRequest? {
    get(base + "/v2/bot/profile/" + address, secret, milliseconds)
  }

  public func profile(in body: [UInt8]) -> ChannelProfile? {
    guard let answer = JSONValue(body), let name = answer["displayName"]?.string else {
      return nil
    }
    return ChannelProfile(name: name, pictureURL: answer["pictureUrl"]?.string)
  }

  public func trialRequest(at base: String, secret: [UInt8], milliseconds: Int) -> HTTPRequest {
    get(base + "/v2/bot/info", secret, milliseconds)
  }

  public func accountName(in body: [UInt8]) -> String? {
    JSONValue(body)?["displayName"]?.string
  }

  public func quotaRequests(
    at base: String, secret: [UInt8], milliseconds: Int
  ) -> [HTTPRequest] {
    ["quota", "quota/consumption"].map {
      get(base + "/v2/bot/message/" + $0, secret, milliseconds)
    }
  }

  public func quota(in bodies: [[UInt8]]) -> ChannelQuota? {
    guard bodies.count == 2, let quota = JSONValue(bodies[0]),
      let used = JSONValue(bodies[1])?["totalUsage"]?.int
    else { return nil }
    switch quota["type"]?.string {
    case "none": return ChannelQuota(limit: nil, used: Int64(used))
    case "limited":
      return quota["value"]?.int.map { ChannelQuota(limit: Int64($0), used: Int64(used)) }
    default: return nil
    }
  }

  private func get(_ url: String, _ secret: [UInt8], _ milliseconds: Int) -> HTTPRequest {
    HTTPRequest(
      url: url, headers: headers(secret), body: nil, milliseconds: milliseconds,
      responseBytesMax: LineChannel.answerBytes)
  }
}

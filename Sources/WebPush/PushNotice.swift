public import Directory
public import HTTPClient
import JSON
public import OpenSSL
public import Primitives

/// One attempt to notify a browser of an event, leased by this node.
public struct PushNotice: Sendable, Equatable {
  public enum Reason: String, Sendable {
    /// A conversation entered the queue.
    case waiting
    /// The visitor wrote in a conversation that the operator has.
    case message
  }

  public var login: Identifier
  public var session: Identifier
  public var reason: Reason
  public var eventAt: WallTime
  /// The number of the attempt; the first is 1.
  public var attempt: Int
  public var subscription: SecretBox.Sealed
  /// Empty: unknown.
  public var visitorName: String
  /// The title or the address of the visitor's page; empty: unknown.
  public var page: String
  /// The beginning of the visitor's last message; empty unless the operator wants it.
  public var text = ""

  /// A push service keeps a message for a device that cannot be reached for so long, from the event
  /// on (RFC 8030 §5.2). Later attempts are not made either.
  static let seconds: Int64 = 3_600
  /// Characters of a name and of a page; a browser shows about 60.
  private static let textCharactersMax = 120

  /// What the service worker shows: who, and where they are. The message itself stays away unless
  /// the operator wants it: a notification stands on a locked screen, and remains on the device
  /// after a log-out.
  public var payload: [UInt8] {
    let name = visitorName.isEmpty ? "A visitor" : cut(visitorName)
    return [UInt8].object { json in
      json.appendMember("conversation", session)
      json.appendMember("title", reason == .waiting ? "\(name) is waiting" : "\(name) wrote")
      json.appendMember("body", cut(text.isEmpty ? page : text))
    }
  }

  private func cut(_ text: String) -> String {
    text.count <= PushNotice.textCharactersMax
      ? text : "\(text.prefix(PushNotice.textCharactersMax - 1))…"
  }

  /// Later messages of the conversation replace earlier ones that the push service still keeps: at
  /// most 32 characters of base64url (RFC 8030 §5.4).
  public var topic: String { "\(session)".filter { $0 != "-" } }

  /// Seconds for which the message is worth being delivered.
  func secondsLeft(_ now: WallTime) -> Int64 {
    max(0, PushNotice.seconds - (now.microseconds - eventAt.microseconds) / 1_000_000)
  }

  /// The HTTP request of this attempt (RFC 8030 §5); nil if the message cannot be encrypted.
  ///
  /// - Parameters:
  ///   - contact: see `VAPID.authorization`.
  ///   - milliseconds: the time limit of the request.
  public func post(
    to subscription: PushSubscription, key: P256Key, contact: String?, now: WallTime,
    milliseconds: Int
  ) -> HTTPRequest? {
    guard
      let body = PushEncryption.seal(payload, for: subscription.point, auth: subscription.auth)
    else { return nil }
    let authorization = VAPID.authorization(
      for: subscription.origin, contact: contact, key: key, now: now)
    return HTTPRequest(
      url: subscription.address,
      headers: [
        "Authorization: \(authorization)", "Content-Encoding: aes128gcm",
        "Content-Type: application/octet-stream", "TTL: \(secondsLeft(now))", "Urgency: high",
        "Topic: \(topic)", "User-Agent: Chirrup",
      ], body: body, milliseconds: milliseconds)
  }
}

/// The outcome of an attempt.
enum PushOutcome: Equatable {
  case delivered
  /// The browser has ended the subscription (RFC 8030 §7.3).
  case gone
  /// The message itself is refused: a repetition would be, too.
  case refused(String)
  /// Worth another attempt, after `seconds` at the earliest: the push service asks for this pause.
  case failed(String, seconds: Int64)

  /// A longer Retry-After counts as this.
  private static let pauseSecondsMax = PushNotice.seconds

  init(_ outcome: HTTPOutcome) {
    switch outcome {
    case .answered(let status, _, let retryAfter):
      switch status {
      case 200..<300: self = .delivered
      case 404, 410: self = .gone
      case 400, 401, 403, 413: self = .refused("HTTP \(status)")
      default:
        self = .failed(
          "HTTP \(status)", seconds: min(max(0, retryAfter), PushOutcome.pauseSecondsMax))
      }
    case .refused: self = .failed("the address is not public", seconds: 0)
    case .failed(let reason): self = .failed(reason, seconds: 0)
    }
  }
}

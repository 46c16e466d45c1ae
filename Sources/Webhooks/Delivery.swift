public import Directory
public import HTTPClient
public import Primitives

/// One attempt to deliver an event, leased by this node.
public struct Delivery: Sendable, Equatable {
  public var workspace: Identifier
  public var id: Identifier
  public var webhook: Identifier
  public var url: String
  public var event: String
  /// The data of the event, as a JSON object.
  public var payload: [UInt8]
  public var secret: SecretBox.Sealed
  /// The number of the attempt; the first is 1.
  public var attempt: Int

  public init(
    workspace: Identifier, id: Identifier, webhook: Identifier, url: String, event: String,
    payload: [UInt8], secret: SecretBox.Sealed, attempt: Int
  ) {
    self.workspace = workspace
    self.id = id
    self.webhook = webhook
    self.url = url
    self.event = event
    self.payload = payload
    self.secret = secret
    self.attempt = attempt
  }

  /// The context to which a webhook's sealed secret is bound: it opens in no other.
  public static func place(of webhook: Identifier) -> String { "webhook:\(webhook)" }

  /// The request body: the payload with the delivery's id and event prepended. Every attempt sends
  /// the same bytes.
  public var body: [UInt8] {
    let head = Array("{\"id\":\"\(id)\",\"type\":\"\(event)\"".utf8)
    let rest = payload.dropFirst()
    return head + (rest.count > 1 ? [UInt8(ascii: ",")] : []) + rest
  }

  /// The HTTP request of this attempt.
  ///
  /// - Parameters:
  ///   - unixSeconds: the time of the attempt, which is signed.
  ///   - milliseconds: the time limit of the request.
  public func post(secret: [UInt8], unixSeconds: Int64, milliseconds: Int) -> HTTPRequest {
    let body = body
    let signature = WebhookSignature.header(
      secret: secret, unixSeconds: unixSeconds, body: body)
    return HTTPRequest(
      url: url,
      headers: [
        "Content-Type: application/json", "User-Agent: Chirrup-Webhooks", "Accept: */*",
        "Chirrup-Event: \(event)", "Chirrup-Delivery: \(id)",
        "Chirrup-Attempt: \(attempt)", "Chirrup-Signature: \(signature)",
      ], body: body, milliseconds: milliseconds)
  }
}

/// The error of an attempt, as a text for administrators; nil for a response of 200 to 299. It
/// consists of the kind of failure and the status only: whatever the server answered stays there.
public func failure(of outcome: HTTPOutcome) -> String? {
  switch outcome {
  case .answered(let status, _, _) where (200..<300).contains(status): return nil
  case .answered(let status, _, _) where (300..<400).contains(status):
    return "HTTP \(status): redirects are not followed"
  case .answered(let status, _, _): return "HTTP \(status)"
  case .refused: return "the address is not public: webhooks may only use the public internet"
  case .failed(let reason): return reason
  }
}

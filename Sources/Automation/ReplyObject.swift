/// The content of a bot's message: its kind, its payload, and a text for clients that cannot show
/// the payload.
import Chat
public import JSON
import Primitives

public struct ReplyObject: Sendable, Equatable {
  public var kind: Kind
  public var body: String
  /// A JSON object as text, at most `Limits.payloadBytes`; empty if there is none.
  public var payload: [UInt8]

  public enum Kind: String, CaseIterable, Sendable { case text, buttons, card, carousel }

  public init(text: String) {
    kind = .text
    body = cut(text)
    payload = []
  }

  /// Nil if the type is unknown, the payload too large, or there is neither a text nor `altText`.
  public init?(type: String, payload value: JSONValue, altText: String?) {
    guard let kind = Kind(rawValue: type) else { return nil }
    self.kind = kind
    let text = ReplyObject.text(kind, value)
    body = cut(kind == .text || (altText ?? "").isEmpty ? text : altText ?? text)
    guard !body.isEmpty else { return nil }
    // A plain text needs no payload.
    let isPlain = kind == .text && value["quick_replies"] == nil
    payload = isPlain ? [] : value.text
    guard payload.count <= Limits.payloadBytes else { return nil }
  }

  private static func text(_ kind: Kind, _ payload: JSONValue) -> String {
    switch kind {
    case .text, .buttons: payload["text"]?.string ?? ""
    case .card: title(payload)
    case .carousel: (payload["cards"]?.array ?? []).map { title($0) }.joined(separator: "\n")
    }
  }

  private static func title(_ card: JSONValue) -> String {
    [card["title"]?.string, card["text"]?.string].compactMap { $0 }.filter { !$0.isEmpty }
      .joined(separator: " — ")
  }
}

private func cut(_ text: String) -> String {
  guard text.utf8.count > Limits.bodyBytes else { return text }
  var count = 0
  return String(
    text.prefix { character in
      count += character.utf8.count
      return count <= Limits.bodyBytes
    })
}

extension Intent.Reply {
  /// Parses an element of `intents.replies`: a string, {"text"}, {"object"} or {"handover":true},
  /// which may have a "team".
  public init?(_ value: JSONValue) {
    if let text = value.string ?? value["text"]?.string, !text.isEmpty {
      self = .text(text)
    } else if let object = value["object"]?.string {
      self = .object(object)
    } else if value["handover"]?.bool == true {
      self = .handover(team: value["team"]?.string)
    } else {
      return nil
    }
  }
}

/// The payload of a reply object, by its type. It is checked when it is stored and sent without a
/// further check.
import Automation
import Chat
import JSON
import Primitives

enum ReplyPayload {
  static let types = ReplyObject.Kind.allCases.map(\.rawValue)

  static let quickRepliesMax = 12
  static let buttonsMax = 6
  static let cardsMax = 10
  static let labelBytes = 200
  static let valueBytes = 1_024
  static let textBytes = 4_096

  /// Checks the member `payload` and returns it as the received text.
  static func checked(_ object: JSONObject, type: String) throws(Problem) -> [UInt8] {
    guard let text = try object.object("payload", bytesMax: Limits.payloadBytes),
      let payload = try object.nested("payload")
    else { throw .missing("payload") }
    switch type {
    case "text":
      _ = try payload.requiredString("text", bytesMax: textBytes)
      for reply in try payload.objects("quick_replies", countMax: quickRepliesMax) {
        try checkLabel(reply)
      }
    case "buttons":
      _ = try payload.requiredString("text", bytesMax: textBytes)
      guard try checkButtons(payload) > 0 else { throw .missing("buttons", in: payload) }
    case "card":
      try checkCard(payload)
    default:
      let cards = try payload.objects("cards", countMax: cardsMax)
      guard !cards.isEmpty else { throw .missing("cards", in: payload) }
      for card in cards { try checkCard(card) }
    }
    return text
  }

  private static func checkCard(_ card: JSONObject) throws(Problem) {
    _ = try card.requiredString("title", bytesMax: labelBytes)
    _ = try card.string("text", bytesMax: textBytes)
    if let url = try card.string("image_url", bytesMax: valueBytes), !isLink(url) {
      throw notLink("image_url", in: card)
    }
    _ = try checkButtons(card)
  }

  /// Returns the number of buttons.
  private static func checkButtons(_ object: JSONObject) throws(Problem) -> Int {
    let buttons = try object.objects("buttons", countMax: buttonsMax)
    for button in buttons {
      let value = try checkLabel(button)
      let type = try button.word("type", of: ["reply", "url"]) ?? "reply"
      guard type == "reply" || isLink(value) else { throw notLink("value", in: button) }
    }
    return buttons.count
  }

  /// Checks `label` and `value`, and returns the value.
  @discardableResult
  private static func checkLabel(_ item: JSONObject) throws(Problem) -> String {
    _ = try item.requiredString("label", bytesMax: labelBytes)
    return try item.requiredString("value", bytesMax: valueBytes)
  }

  /// Excludes `javascript:` and `data:` (fault X02).
  static func isLink(_ text: String) -> Bool {
    (text.hasPrefix("https://") || text.hasPrefix("http://"))
      && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
  }

  static func notLink(_ name: String, in object: JSONObject) -> Problem {
    .invalidMember(name, in: object, "a URL that begins with https:// or http://, without spaces")
  }
}

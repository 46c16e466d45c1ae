/// What a reply may hold, by its type. It is checked when it is written, so that whoever sends it
/// later sends it as it is.
import Chat
import JSON
import Primitives

enum ReplyPayload {
  static let types = ["text", "buttons", "card", "carousel"]

  static let quickReplies = 12
  static let buttons = 6
  static let cards = 10
  static let labelBytes = 200
  static let valueBytes = 1_024
  static let textBytes = 4_096

  /// The payload as the text that came.
  static func checked(_ object: JSONObject, type: String) throws(Problem) -> [UInt8] {
    guard let text = try object.object("payload", bytesMax: Limits.payloadBytes),
      let payload = try object.nested("payload")
    else { throw .missing("payload") }
    switch type {
    case "text":
      _ = try payload.requiredString("text", bytesMax: textBytes)
      for reply in try items(payload, "quick_replies", countMax: quickReplies) {
        try label(reply)
      }
    case "buttons":
      _ = try payload.requiredString("text", bytesMax: textBytes)
      guard try check(buttonsOf: payload) > 0 else { throw .missing("buttons") }
    case "card":
      try check(card: payload)
    default:
      let cards = try items(payload, "cards", countMax: cards)
      guard !cards.isEmpty else { throw .missing("cards") }
      for card in cards { try check(card: card) }
    }
    return text
  }

  private static func check(card: JSONObject) throws(Problem) {
    _ = try card.requiredString("title", bytesMax: labelBytes)
    _ = try card.string("text", bytesMax: textBytes)
    if let url = try card.string("image_url", bytesMax: valueBytes), !isLink(url) {
      throw .wrongType("image_url", "a URL that begins with https:// or http://")
    }
    _ = try check(buttonsOf: card)
  }

  private static func check(buttonsOf object: JSONObject) throws(Problem) -> Int {
    let found = try items(object, "buttons", countMax: buttons)
    for button in found {
      let value = try label(button)
      let type = try button.word("type", of: ["reply", "url"]) ?? "reply"
      guard type == "reply" || isLink(value) else {
        throw .wrongType("value", "a URL that begins with https:// or http://")
      }
    }
    return found.count
  }

  @discardableResult
  private static func label(_ item: JSONObject) throws(Problem) -> String {
    _ = try item.requiredString("label", bytesMax: labelBytes)
    return try item.requiredString("value", bytesMax: valueBytes)
  }

  /// The objects of an array; none when it is missing.
  static func items(
    _ object: JSONObject, _ name: String, countMax: Int
  ) throws(Problem) -> [JSONObject] {
    var found: [JSONObject] = []
    for element in try object.elements(name, countMax: countMax) ?? [] {
      guard let item = try element.nested(name) else {
        throw .wrongType(name, "an array of objects")
      }
      found.append(item)
    }
    return found
  }

  /// No `javascript:`, no `data:` (fault X02).
  static func isLink(_ text: String) -> Bool {
    (text.hasPrefix("https://") || text.hasPrefix("http://"))
      && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
  }
}

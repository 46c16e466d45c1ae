/// Messages of the log as calls of Telegram's methods: texts with inline keyboards, and photos.
import Chat
import JSON
import Primitives

enum TelegramMessages {
  /// Telegram's limits: bytes of a button's data, buttons of a message, bytes of a photo by URL.
  static let dataBytes = 64
  static let buttonsMax = 100
  static let photoBytes: Int64 = 5_000_000
  /// Calls for one message of the log, whose texts have fewer parts.
  static let callsMax = 16
  /// The beginnings of a button's data: what follows is its value, or only its place.
  private static let (valueMark, placeMark) = ("v=", "l=")

  struct Call: Sendable, Equatable {
    var method: String
    var members: [String: JSONValue]
  }

  static func calls(for message: OutboundMessage, unitsMax: Int) -> [Call] {
    let payload = message.payload.isEmpty ? nil : JSONValue(message.payload)
    var calls: [Call] = []
    switch message.kind {
    case .file: calls = files(message, payload, unitsMax)
    case .buttons, .card: calls = card(payload ?? .null, unitsMax)
    case .carousel:
      calls = (payload?["cards"]?.array ?? []).flatMap { card($0, unitsMax) }
    default: calls = text(message.body, payload?["quick_replies"]?.array ?? [], unitsMax)
    }
    // A payload without a text: the body stands for it.
    if calls.isEmpty { calls = text(message.body, [], unitsMax) }
    return Array(calls.prefix(callsMax))
  }

  /// A text in as many messages as it needs, the last one with the buttons.
  private static func text(
    _ text: String, _ buttons: [JSONValue], _ unitsMax: Int, title: String? = nil,
    picture: String? = nil
  ) -> [Call] {
    let buttons = buttons.prefix(buttonsMax)
    let keys = buttons.enumerated().compactMap { button($1, place: $0) }
    // Telegram would refuse the whole message because of other links, such as tel:.
    let links = buttons.filter { isLink($0) && !isShown($0) }.map { link in
      "\(link["label"]?.string ?? ""): \(link["value"]?.string ?? "")"
    }
    let whole = ([title, text] + links).compactMap { $0 }.filter { !$0.isEmpty }
    var calls = textParts(of: whole.joined(separator: "\n"), unitsMax: unitsMax).map {
      Call(method: "sendMessage", members: ["text": .string($0)])
    }
    guard !calls.isEmpty else { return [] }
    if let title, !title.isEmpty, calls[0].members["text"]?.string?.hasPrefix(title) == true {
      calls[0].members["entities"] = .array([
        .object(["type": .string("bold"), "offset": .int(0), "length": .int(title.utf16.count)])
      ])
    }
    if let picture {
      // Unlike a photo, a preview that Telegram cannot fetch leaves the message as it is.
      calls[0].members["link_preview_options"] = .object([
        "url": .string(picture), "prefer_large_media": .bool(true),
        "show_above_text": .bool(true),
      ])
    }
    if !keys.isEmpty {
      calls[calls.count - 1].members["reply_markup"] = .object([
        "inline_keyboard": .array(keys.map { .array([$0]) })
      ])
    }
    return calls
  }

  private static func card(_ card: JSONValue, _ unitsMax: Int) -> [Call] {
    let picture = card["image_url"]?.string.flatMap { $0.hasPrefix("https://") ? $0 : nil }
    let (title, body) = (card["title"]?.string, card["text"]?.string ?? "")
    if (title ?? "").isEmpty && body.isEmpty { return [] }
    return text(
      body, card["buttons"]?.array ?? [], unitsMax, title: title, picture: picture)
  }

  /// What was written beside the files, photos, and a text with the links of all others.
  private static func files(
    _ message: OutboundMessage, _ payload: JSONValue?, _ unitsMax: Int
  ) -> [Call] {
    let isCaption = payload?["caption"]?.bool == true
    let isPhoto: (OutboundFile) -> Bool = { file in
      ["image/jpeg", "image/png"].contains(file.type) && file.byteCount <= photoBytes
    }
    let links = message.files.filter { !isPhoto($0) }.map { "\($0.name)\n\($0.url)" }
    return (isCaption ? text(message.body, [], unitsMax) : [])
      + message.files.filter(isPhoto).map {
        Call(method: "sendPhoto", members: ["photo": .string($0.url)])
      }
      + (links.isEmpty ? [] : text(links.joined(separator: "\n\n"), [], unitsMax))
  }

  // MARK: Buttons

  private static func isLink(_ button: JSONValue) -> Bool { button["type"]?.string == "url" }

  private static func isShown(_ link: JSONValue) -> Bool {
    ["https://", "http://", "tg://"].contains { link["value"]?.string?.hasPrefix($0) == true }
  }

  /// A link, or a reply whose value comes back in a callback query, as its label does. A longer
  /// value than Telegram takes does not: then the label is all that is said.
  private static func button(_ button: JSONValue, place: Int) -> JSONValue? {
    guard let label = button["label"]?.string, !label.isEmpty, let value = button["value"]?.string
    else { return nil }
    if isLink(button) {
      return isShown(button) ? .object(["text": .string(label), "url": .string(value)]) : nil
    }
    let isShort = valueMark.utf8.count + value.utf8.count <= dataBytes
    let data = isShort ? valueMark + value : "\(placeMark)\(place)"
    return .object(["text": .string(label), "callback_data": .string(data)])
  }

  /// The value in a button's data; nil: only its label is known. Data that are not ours stand for
  /// themselves.
  static func value(in data: String) -> String? {
    if data.hasPrefix(valueMark) { return String(data.dropFirst(valueMark.count)) }
    return data.hasPrefix(placeMark) ? nil : data
  }
}

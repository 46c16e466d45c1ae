/// Messages of the log as LINE's message objects: texts, and Flex messages for what has buttons.
import Chat
import JSON
import Primitives

enum LineMessages {
  /// LINE's limits, in UTF-16 code units if they are of texts.
  static let altTextUnits = 400
  static let quickReplyLabelUnits = 20
  static let labelUnits = 40
  static let dataUnits = 300
  static let urlUnits = 1_000
  static let quickRepliesMax = 13
  static let bubblesMax = 12
  static let flexBytes = 50_000
  /// Bytes of an image that is its own preview.
  static let imageBytes: Int64 = 1_000_000

  /// At most `messagesPerRequest`: the longest body of the log has fewer parts.
  static func messages(
    for message: OutboundMessage, _ capabilities: ChannelCapabilities
  ) -> [JSONValue] {
    let payload = message.payload.isEmpty ? nil : JSONValue(message.payload)
    if message.kind == .file { return files(message, payload, capabilities) }
    if let payload, let flex = flex(message, payload) { return [flex] }
    let parts = textParts(of: message.body, unitsMax: capabilities.textUnitsMax)
      .prefix(capabilities.messagesPerRequest)
    var messages: [[String: JSONValue]] = parts.map {
      ["type": .string("text"), "text": .string($0)]
    }
    let items = (payload?["quick_replies"]?.array ?? []).prefix(quickRepliesMax).compactMap {
      action($0, labelUnits: quickReplyLabelUnits)
    }
    if !items.isEmpty, !messages.isEmpty {
      messages[messages.count - 1]["quickReply"] = .object([
        "items": .array(
          items.map { .object(["type": .string("action"), "action": $0]) })
      ])
    }
    return messages.map { .object($0) }
  }

  /// What was written beside the files, images that LINE shows by itself, and a text with the links
  /// of all others.
  private static func files(
    _ message: OutboundMessage, _ payload: JSONValue?, _ capabilities: ChannelCapabilities
  ) -> [JSONValue] {
    let isCaption = payload?["caption"]?.bool == true
    var texts = isCaption ? textParts(of: message.body, unitsMax: capabilities.textUnitsMax) : []
    // One is left for images or for links.
    texts = Array(texts.prefix(capabilities.messagesPerRequest - 1))
    let room = capabilities.messagesPerRequest - texts.count
    var images = message.files.filter { isImage($0) }
    if images.count > room || images.count < message.files.count {
      images = Array(images.prefix(room - 1))
    }
    let links = message.files.filter { !images.contains($0) }.map { "\($0.name)\n\($0.url)" }
    let objects = images.map { image -> JSONValue in
      .object([
        "type": .string("image"), "originalContentUrl": .string(image.url),
        "previewImageUrl": .string(image.url),
      ])
    }
    if !links.isEmpty { texts.append(links.joined(separator: "\n\n")) }
    let shown = texts.map { text -> JSONValue in
      .object(["type": .string("text"), "text": .string(text)])
    }
    return links.isEmpty ? shown + objects : shown.dropLast() + objects + shown.suffix(1)
  }

  /// Whether LINE takes the image as one: by HTTPS, JPEG or PNG, and small enough for the preview.
  private static func isImage(_ file: OutboundFile) -> Bool {
    ["image/jpeg", "image/png"].contains(file.type) && file.byteCount <= imageBytes
      && file.url.hasPrefix("https://") && file.url.utf16.count <= urlUnits
  }

  /// Nil for texts, and for what LINE could not show.
  private static func flex(_ message: OutboundMessage, _ payload: JSONValue) -> JSONValue? {
    let contents: JSONValue?
    switch message.kind {
    case .buttons: contents = bubble(payload, title: nil)
    case .card: contents = bubble(payload, title: payload["title"]?.string)
    case .carousel:
      let bubbles = (payload["cards"]?.array ?? []).prefix(bubblesMax).compactMap {
        bubble($0, title: $0["title"]?.string)
      }
      contents =
        bubbles.isEmpty
        ? nil : .object(["type": .string("carousel"), "contents": .array(Array(bubbles))])
    default: return nil
    }
    guard let contents, contents.text.count <= flexBytes else { return nil }
    return .object([
      "type": .string("flex"), "altText": .string(cut(message.body, units: altTextUnits)),
      "contents": contents,
    ])
  }

  private static func bubble(_ card: JSONValue, title: String?) -> JSONValue? {
    var texts: [JSONValue] = []
    if let title, !title.isEmpty {
      texts.append(text(title, more: ["weight": .string("bold"), "size": .string("lg")]))
    }
    if let body = card["text"]?.string, !body.isEmpty { texts.append(text(body, more: [:])) }
    guard !texts.isEmpty else { return nil }
    var bubble: [String: JSONValue] = ["type": .string("bubble"), "body": box(texts)]
    if let url = card["image_url"]?.string, url.hasPrefix("https://"), url.utf16.count <= urlUnits {
      bubble["hero"] = .object([
        "type": .string("image"), "url": .string(url), "size": .string("full"),
        "aspectRatio": .string("20:13"), "aspectMode": .string("cover"),
      ])
    }
    let buttons = (card["buttons"]?.array ?? []).compactMap { action($0, labelUnits: labelUnits) }
    if !buttons.isEmpty {
      bubble["footer"] = box(
        buttons.map {
          .object(["type": .string("button"), "height": .string("sm"), "action": $0])
        })
    }
    return .object(bubble)
  }

  private static func text(_ text: String, more: [String: JSONValue]) -> JSONValue {
    .object(
      ["type": .string("text"), "text": .string(text), "wrap": .bool(true)].merging(more) { $1 })
  }

  private static func box(_ contents: [JSONValue]) -> JSONValue {
    .object([
      "type": .string("box"), "layout": .string("vertical"), "spacing": .string("sm"),
      "contents": .array(contents),
    ])
  }

  /// A button: a link, or a reply whose value and label come back as a postback. What does not fit
  /// into its data comes back as a text.
  static func action(_ button: JSONValue, labelUnits: Int) -> JSONValue? {
    guard let label = button["label"]?.string, !label.isEmpty, let value = button["value"]?.string
    else { return nil }
    let shown = JSONValue.string(cut(label, units: labelUnits))
    if button["type"]?.string == "url" {
      guard value.utf16.count <= urlUnits else { return nil }
      return .object(["type": .string("uri"), "label": shown, "uri": .string(value)])
    }
    let data = JSONValue.object(["v": .string(value), "l": .string(label)]).text
    let text = String(decoding: data, as: UTF8.self)
    guard text.utf16.count <= dataUnits else {
      return .object([
        "type": .string("message"), "label": shown,
        "text": .string(cut(label, units: dataUnits)),
      ])
    }
    return .object([
      "type": .string("postback"), "label": shown, "data": .string(text),
      "displayText": .string(cut(label, units: dataUnits)),
    ])
  }
}

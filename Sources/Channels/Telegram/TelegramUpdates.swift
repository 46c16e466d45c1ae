/// Telegram's updates: what each means in the log. A webhook's body is one update.
import Chat
import JSON
import Primitives

extension TelegramChannel {
  public func events(in body: [UInt8]) throws(ChannelFault) -> [ReceivedEvent] {
    guard let update = TelegramUpdate(body), let id = update.value["update_id"]?.int else {
      throw ChannelFault("The body is no JSON object with a number “update_id”.")
    }
    return [ReceivedEvent(id: String(id), address: update.address, payload: body)]
  }

  public func meaning(of payload: [UInt8]) -> InboundEvent {
    guard let update = TelegramUpdate(payload), update.address != nil else {
      return InboundEvent(.unsupported, at: WallTime(microseconds: 0))
    }
    return InboundEvent(update.kind ?? .unsupported, at: update.at)
  }

  /// Ends the waiting mark of a tapped button: an answer to a webhook may be a call of a method.
  public func answer(to body: [UInt8]) -> [UInt8] {
    guard let id = TelegramUpdate(body)?.value["callback_query"]?["id"]?.string else {
      return Array("{}".utf8)
    }
    return JSONValue.object([
      "method": .string("answerCallbackQuery"), "callback_query_id": .string(id),
    ]).text
  }
}

/// One update of a private chat. Groups and channels are not supported.
struct TelegramUpdate {
  let value: JSONValue

  init?(_ payload: [UInt8]) {
    guard let value = JSONValue(payload) ?? JSONValue(storable(payload)), value.object != nil
    else { return nil }
    self.value = value
  }

  /// What the update is about, with its chat.
  private var subject: JSONValue? {
    value["message"] ?? value["edited_message"] ?? value["my_chat_member"]
      ?? value["callback_query"]?["message"]
  }

  var address: String? {
    guard let chat = subject?["chat"], chat["type"]?.string == "private",
      let id = chat["id"]?.int, id > 0
    else { return nil }
    return String(id)
  }

  var at: WallTime {
    let seconds = Int64(subject?["date"]?.int ?? 0)
    return WallTime(microseconds: seconds.multipliedReportingOverflow(by: 1_000_000).partialValue)
  }

  var kind: InboundEvent.Kind? {
    if let message = value["message"] { return self.message(message) }
    if let query = value["callback_query"] { return tap(query) }
    guard let member = value["my_chat_member"] else { return nil }
    switch member["new_chat_member"]?["status"]?.string {
    case "kicked": return .left
    case "member":
      return .followed(isAgain: member["old_chat_member"]?["status"]?.string == "kicked")
    default: return nil
    }
  }

  private func message(_ message: JSONValue) -> InboundEvent.Kind? {
    guard let id = message["message_id"]?.int, let chat = address else { return nil }
    let text = message["text"]?.string
    // The button with which a chat begins sends it.
    if let text, text == "/start" || text.hasPrefix("/start ") { return .followed(isAgain: false) }
    guard let first = text ?? content(message) else { return nil }
    let body = [first, message["caption"]?.string ?? ""].filter { !$0.isEmpty }
      .joined(separator: "\n")
    guard !body.isEmpty else { return nil }
    // Each message has these; what else there is, is kept.
    let common: Set = ["message_id", "from", "chat", "date", "text"]
    let more = (message.object ?? [:]).filter { !common.contains($0.key) }
    let kept = more.isEmpty ? [] : JSONValue.object(["telegram": .object(more)]).text
    // Another bot may have the same numbers, but not at the same time.
    return .message(
      key: "message:\(chat):\(id):\(message["date"]?.int ?? 0)", body: cut(body),
      payload: kept.count <= Limits.payloadBytes ? kept : [])
  }

  /// A line for what is no text. Venues have a location too, and animations a document.
  private func content(_ message: JSONValue) -> String? {
    if let sticker = message["sticker"] { return line("sticker", sticker["emoji"]?.string) }
    if message["photo"] != nil { return line("image", nil) }
    if message["video"] ?? message["video_note"] ?? message["animation"] != nil {
      return line("video", nil)
    }
    if message["voice"] ?? message["audio"] != nil { return line("audio", nil) }
    if let file = message["document"] { return line("file", file["file_name"]?.string) }
    if let poll = message["poll"] { return line("poll", poll["question"]?.string) }
    if let contact = message["contact"] {
      let parts = ["first_name", "last_name", "phone_number"].compactMap { contact[$0]?.string }
      return line("contact", parts.joined(separator: " "))
    }
    guard let location = message["location"] ?? message["venue"]?["location"] else { return nil }
    var parts = ["title", "address"].compactMap { message["venue"]?[$0]?.string }
    if case .number(let latitude)? = location["latitude"],
      case .number(let longitude)? = location["longitude"]
    {
      parts.append("\(latitude), \(longitude)")
    }
    return line("location", parts.joined(separator: ", "))
  }

  /// A tap on a button: its label is on the message, its value in its data.
  private func tap(_ query: JSONValue) -> InboundEvent.Kind? {
    guard let id = query["id"]?.string, !id.isEmpty, let data = query["data"]?.string,
      !data.isEmpty
    else { return nil }
    let rows = query["message"]?["reply_markup"]?["inline_keyboard"]?.array ?? []
    let button = rows.lazy.flatMap { $0.array ?? [] }.first { $0["callback_data"]?.string == data }
    let value = TelegramMessages.value(in: data)
    let label = button?["text"]?.string ?? value ?? data
    guard !label.isEmpty else { return nil }
    let payload =
      value.map { JSONValue.object(["reply": .object(["value": .string($0)])]).text } ?? []
    return .message(key: "callback:\(id)", body: cut(label), payload: payload)
  }
}

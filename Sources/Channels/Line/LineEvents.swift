/// LINE's webhook events: a body, and what each event means in the log.
import Chat
import JSON
import OpenSSL
import Primitives

extension LineChannel {
  /// The most events of one body; LINE sends far fewer.
  static let eventsMax = 200
  /// The longest id of an event, and of a person.
  static let idCharacters = 128

  public func events(in body: [UInt8]) throws(ChannelFault) -> [ReceivedEvent] {
    let object: JSONObject
    do throws(JSONObject.Fault) {
      object = try JSONObject(body)
    } catch {
      throw ChannelFault("The body is not a JSON object.")
    }
    guard let list = object.member("events"), list.kind == .array else {
      throw ChannelFault("The body has no array “events”.")
    }
    let tokens = object.elements(of: list)
    guard tokens.count <= LineChannel.eventsMax else {
      throw ChannelFault("The body has more than \(LineChannel.eventsMax) events.")
    }
    return tokens.map { received(Array(object.text[$0.range])) }
  }

  private func received(_ payload: [UInt8]) -> ReceivedEvent {
    let event = LineEvent(payload)
    // An event without an id is recognised by its bytes.
    let id = event?.value["webhookEventId"]?.string ?? ""
    let isID = (1...LineChannel.idCharacters).contains(id.unicodeScalars.count)
    return ReceivedEvent(
      id: isID ? id : "sha256-" + SHA256.digest(payload).hexadecimal, address: event?.address,
      payload: payload)
  }

  public func meaning(of payload: [UInt8]) -> InboundEvent {
    guard let event = LineEvent(payload), event.address != nil else {
      return InboundEvent(.unsupported, at: WallTime(microseconds: 0))
    }
    return InboundEvent(
      kind(of: event), content: event.content, replyToken: event.replyToken, at: event.at)
  }

  private func kind(of event: LineEvent) -> InboundEvent.Kind {
    switch event.value["type"]?.string {
    case "message": event.message ?? .unsupported
    case "postback": event.postback ?? .unsupported
    case "follow": .followed(isAgain: event.value["follow"]?["isUnblocked"]?.bool == true)
    case "unfollow": .left
    default: .unsupported
    }
  }
}

/// One event of a person. Groups and rooms are not supported.
struct LineEvent {
  let value: JSONValue

  init?(_ payload: [UInt8]) {
    guard let value = JSONValue(payload) ?? JSONValue(storable(payload)) else { return nil }
    self.value = value
  }

  var address: String? {
    guard value["source"]?["type"]?.string == "user" else { return nil }
    // It becomes a part of a URL.
    return value["source"]?["userId"]?.string.flatMap { id in
      (1...LineChannel.idCharacters).contains(id.utf8.count)
        && id.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "_-".utf8.contains($0) }
        ? id : nil
    }
  }

  /// Not of an event that is sent again: it is unknown how long its token is still valid.
  var replyToken: String? {
    if value["deliveryContext"]?["isRedelivery"]?.bool == true { return nil }
    return value["replyToken"]?.string.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
  }

  var at: WallTime {
    let milliseconds = Int64(value["timestamp"]?.int ?? 0)
    return WallTime(microseconds: milliseconds.multipliedReportingOverflow(by: 1_000).partialValue)
  }

  private var eventID: String { value["webhookEventId"]?.string ?? "" }

  var message: InboundEvent.Kind? {
    guard let message = value["message"], let type = message["type"]?.string,
      let key = message["id"]?.string, !key.isEmpty
    else { return nil }
    let body: String
    switch type {
    case "text": body = message["text"]?.string ?? ""
    case "sticker": body = line(type, message["keywords"]?.array?.first?.string)
    case "file": body = line(type, message["fileName"]?.string)
    case "location": body = place(message)
    default: body = line(type, nil)
    }
    let isPlain = type == "text" && message["emojis"] == nil && message["mention"] == nil
    let kept: [UInt8] = isPlain ? [] : JSONValue.object(["line": message]).text
    return .message(
      key: "message:" + key, body: cut(body.isEmpty ? line(type, nil) : body),
      payload: kept.count <= Limits.payloadBytes ? kept : [])
  }

  /// What LINE keeps of the message: not of a picture that the person's app has elsewhere.
  var content: InboundContent? {
    guard value["type"]?.string == "message", let message = value["message"],
      let kind = message["type"]?.string, let name = LineEvent.names[kind],
      kind == "file" || message["contentProvider"]?["type"]?.string == "line",
      // It becomes a part of a URL.
      let id = message["id"]?.string, (1...LineChannel.idCharacters).contains(id.utf8.count),
      id.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || "_-".utf8.contains($0) })
    else { return nil }
    let given = kind == "file" ? message["fileName"]?.string : nil
    return InboundContent(
      id: id, kind: kind, name: given ?? name, isNamed: given != nil,
      byteCount: message["fileSize"]?.int.map { Int64($0) })
  }

  private static let names = [
    "image": "image.jpg", "video": "video.mp4", "audio": "audio.m4a", "file": "file",
  ]

  /// The data of a button of ours have its value and label; other data stand for themselves.
  var postback: InboundEvent.Kind? {
    guard let data = value["postback"]?["data"]?.string, !data.isEmpty, !eventID.isEmpty else {
      return nil
    }
    let own = JSONValue(data)
    let choice = own?["v"]?.string ?? data
    let payload = JSONValue.object([
      "reply": .object(["value": .string(choice)]), "line": value["postback"] ?? .null,
    ]).text
    return .message(
      key: "postback:" + eventID, body: cut(own?["l"]?.string ?? data),
      payload: payload.count <= Limits.payloadBytes ? payload : [])
  }

  private func place(_ message: JSONValue) -> String {
    var parts = [message["title"]?.string, message["address"]?.string].compactMap { $0 }
    if case .number(let latitude)? = message["latitude"],
      case .number(let longitude)? = message["longitude"]
    {
      parts.append("\(latitude), \(longitude)")
    }
    return line("location", parts.joined(separator: ", "))
  }
}

public import JSON
import Primitives

extension WorkspaceSettings {
  /// A sentence about the first invalid member of a value; nil if the value may be stored.
  public static func check(_ key: Key, _ value: JSONValue) -> String? {
    var settings = WorkspaceSettings()
    return settings.read(key, value)
  }

  /// Reads the valid members of a value. Returns a sentence about the first invalid one.
  @discardableResult
  public mutating func read(_ key: Key, _ value: JSONValue) -> String? {
    var reader = SettingReader(value)
    switch key {
    case .widget: widget = Widget(&reader)
    case .hours: hours = Hours(&reader)
    case .greetingMessage: greetingMessage = BotMessage(&reader)
    case .awayMessage: awayMessage = BotMessage(&reader)
    case .prechat: prechat = Prechat(&reader)
    case .offline: offline = BotMessage(&reader)
    case .queue: queue = Queue(&reader)
    case .rating: rating = Rating(&reader)
    case .retention: retention = Retention(&reader)
    case .security: security = Security(&reader)
    case .routing: routing = Routing(&reader)
    case .watching: watching = Watching(&reader)
    case .attachments: attachments = Attachments(&reader)
    case .mail: mail = Mail(&reader)
    }
    return reader.fault
  }
}

extension WorkspaceSettings.Widget {
  init(_ reader: inout SettingReader) {
    name = reader.text("name", bytesMax: SettingLimits.nameBytes)
    if let text = reader.text("accent", bytesMax: 7) {
      if isColour(text) { accent = text } else { reader.refuse("accent", "a colour, #rrggbb") }
    }
    if let tag = reader.text("locale", bytesMax: SettingLimits.localeBytes) {
      let isTag = !tag.isEmpty && tag.utf8.allSatisfy { isTagByte($0) }
      if isTag { locale = tag } else { reader.refuse("locale", "a language tag, or auto") }
    }
    theme = reader.choice("theme", theme, of: ["auto", "light", "dark"])
    position = reader.choice("position", position, of: ["right", "left"])
    if var nested = reader.nested("greeting") {
      greeting = WorkspaceSettings.Greeting(
        title: nested.text("title", bytesMax: SettingLimits.greetingTitleBytes) ?? "",
        text: nested.text("text", bytesMax: SettingLimits.textBytes) ?? "")
      if !nested.isObject { greeting = nil }
      reader.take(faultOf: nested)
    }
    preview = reader.bool("preview", preview)
    sound = reader.bool("sound", sound)
    teaser = reader.bool("teaser", teaser)
  }
}

extension WorkspaceSettings.Hours {
  init(_ reader: inout SettingReader) {
    always = reader.bool("always", always)
    if let zone = reader.text("time_zone", bytesMax: SettingLimits.zoneBytes) {
      let isName = !zone.isEmpty && zone.utf8.allSatisfy { isZoneByte($0) }
      if isName { timeZone = zone } else { reader.refuse("time_zone", "the name of a time zone") }
    }
    days =
      reader.list("days", max: SettingLimits.openings) { value, place in
        var item = SettingReader(value, prefix: "\(place).")
        let day = item.int("day", 0, in: 1...7)
        let from = item.text("from", bytesMax: 5).flatMap { minutes($0) }
        let to = item.text("to", bytesMax: 5).flatMap { minutes($0) }
        guard item.fault == nil, day > 0, let from, let to, from != to, from < 1_440 else {
          return (
            nil,
            item.fault ?? "“\(place)” needs a day from 1 (Monday) to 7, and two times as 09:00."
          )
        }
        return (WorkspaceSettings.Opening(day: day, from: from, to: to), nil)
      } ?? []
    holidays =
      reader.list("holidays", max: SettingLimits.holidays) { value, place in
        guard let date = value.string, isDate(date) else {
          return (nil, "“\(place)” must be a date as 2026-12-25.")
        }
        return (date, nil)
      } ?? []
  }
}

extension WorkspaceSettings.BotMessage {
  init(_ reader: inout SettingReader) {
    isEnabled = reader.bool("enabled", false)
    text = reader.text("text", bytesMax: SettingLimits.textBytes) ?? ""
  }
}

extension WorkspaceSettings.Prechat {
  init(_ reader: inout SettingReader) {
    isEnabled = reader.bool("enabled", false)
    fields =
      reader.list("fields", max: SettingLimits.fields) { value, place in
        var item = SettingReader(value, prefix: "\(place).")
        let field = Field(&item)
        guard item.fault == nil, !field.key.isEmpty, !field.label.isEmpty else {
          return (nil, item.fault ?? "“\(place)” needs a key and a label.")
        }
        return (field, nil)
      } ?? []
  }
}

extension WorkspaceSettings.Prechat.Field {
  init(_ reader: inout SettingReader) {
    key = reader.text("key", bytesMax: SettingLimits.fieldKeyBytes) ?? ""
    label = reader.text("label", bytesMax: SettingLimits.labelBytes) ?? ""
    type = reader.choice("type", "text", of: ["text", "email", "select", Self.teamType])
    isRequired = reader.bool("required", false)
    options =
      reader.list("options", max: SettingLimits.options) { value, place in
        guard let text = value.string, text.utf8.count <= SettingLimits.labelBytes else {
          return (nil, "“\(place)” must be a text of at most \(SettingLimits.labelBytes) bytes.")
        }
        return (text, nil)
      } ?? []
  }
}

extension WorkspaceSettings.Queue {
  init(_ reader: inout SettingReader) {
    capacity = reader.int("capacity", capacity, in: 1...1_000)
    assign = reader.choice("assign", assign, of: ["off", "least_busy"])
    reassignAfterSeconds = reader.int(
      "reassign_after_seconds", reassignAfterSeconds, in: 0...86_400)
    closeAfterMinutes = reader.int("close_after_minutes", closeAfterMinutes, in: 0...10_080)
    showsPosition = reader.bool("show_position", showsPosition)
    let minutes = 0...SettingLimits.targetMinutes
    firstResponseMinutes = reader.int("first_response_minutes", firstResponseMinutes, in: minutes)
    resolutionMinutes = reader.int("resolution_minutes", resolutionMinutes, in: minutes)
  }
}

extension WorkspaceSettings.Retention {
  init(_ reader: inout SettingReader) {
    deletedDays = reader.int("deleted_days", deletedDays, in: 1...3_650)
  }
}

extension WorkspaceSettings.Routing {
  init(_ reader: inout SettingReader) {
    rules =
      reader.list("rules", max: SettingLimits.routingRules) { value, place in
        var item = SettingReader(value, prefix: "\(place).")
        let rule = Rule(
          page: item.text("page", bytesMax: SettingLimits.pathBytes) ?? "",
          language: item.text("language", bytesMax: SettingLimits.localeBytes) ?? "",
          team: item.text("team", bytesMax: SettingLimits.nameBytes) ?? "")
        guard item.fault == nil, !rule.team.isEmpty, rule.page.isEmpty || rule.page.first == "/",
          rule.language.utf8.allSatisfy({ isTagByte($0) })
        else {
          return (
            nil,
            item.fault ?? "“\(place)” needs a team; a page begins with /, a language is as de."
          )
        }
        return (rule, nil)
      } ?? []
  }
}

extension WorkspaceSettings.Security {
  init(_ reader: inout SettingReader) {
    requiresSecondFactor = reader.bool("require_second_factor", requiresSecondFactor)
  }
}

extension WorkspaceSettings.Watching {
  init(_ reader: inout SettingReader) {
    isEnabled = reader.bool("enabled", isEnabled)
  }
}

extension WorkspaceSettings.Attachments {
  init(_ reader: inout SettingReader) {
    isEnabled = reader.bool("enabled", isEnabled)
    bytesMax = reader.int("bytes_max", bytesMax, in: 1_024...SettingLimits.attachmentBytes)
    let found: [String]? = reader.list("types", max: Self.kinds.count) { value, place in
      guard let name = value.string, Self.kinds.contains(name) else {
        return (nil, "“\(place)” must be one of \(Self.kinds.joined(separator: ", ")).")
      }
      return (name, nil)
    }
    if let found { types = Self.kinds.filter(found.contains) }
    totalBytes = reader.int(
      "total_bytes", totalBytes, in: 0...SettingLimits.attachmentTotalBytes)
  }
}

extension WorkspaceSettings.Mail {
  init(_ reader: inout SettingReader) {
    sendsAnswers = reader.bool("answers", sendsAnswers)
    answersAfterSeconds = reader.int(
      "answers_after_seconds", answersAfterSeconds, in: 0...86_400)
    senderName = reader.text("sender_name", bytesMax: SettingLimits.nameBytes) ?? ""
    senderAddress = Self.address("sender_address", &reader)
    replyTo = Self.address("reply_to", &reader)
    offlineTo = Self.address("offline_to", &reader)
    alertTo = Self.address("alert_to", &reader)
    alertAfterSeconds = reader.int("alert_after_seconds", alertAfterSeconds, in: 0...86_400)
    sendsTranscripts = reader.bool("transcripts", sendsTranscripts)
  }

  private static func address(_ name: String, _ reader: inout SettingReader) -> String {
    let text = reader.text(name, bytesMax: SettingLimits.addressBytes) ?? ""
    if text.isEmpty || isAddress(text) { return text }
    reader.refuse(name, "an e-mail address, or empty")
    return ""
  }
}

extension WorkspaceSettings.Rating {
  init(_ reader: inout SettingReader) {
    isEnabled = reader.bool("enabled", isEnabled)
    question = reader.text("question", bytesMax: SettingLimits.textBytes)
  }
}

/// `#rrggbb`.
private func isColour(_ text: String) -> Bool {
  text.utf8.count == 7 && text.utf8.first == UInt8(ascii: "#")
    && text.utf8.dropFirst().allSatisfy { hexadecimalValue($0) != nil }
}

private func isTagByte(_ byte: UInt8) -> Bool {
  byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-")
}

private func isZoneByte(_ byte: UInt8) -> Bool {
  byte.isASCIILetter || byte.isASCIIDigit || "/_+-".utf8.contains(byte)
}

/// The minutes from midnight to `09:30`; `24:00` is the end of a day.
private func minutes(_ text: String) -> Int? {
  let parts = text.split(separator: ":", omittingEmptySubsequences: false)
  guard text.utf8.count == 5, parts.count == 2, let hour = UInt8(parts[0]),
    let minute = UInt8(parts[1]), hour < 24 && minute < 60 || hour == 24 && minute == 0
  else { return nil }
  return Int(hour) * 60 + Int(minute)
}

/// Whether a text is a date such as `2026-12-25`.
public func isDate(_ text: String) -> Bool {
  let parts = text.split(separator: "-", omittingEmptySubsequences: false)
  guard text.utf8.count == 10, parts.count == 3, parts[0].utf8.count == 4,
    parts[1].utf8.count == 2, let year = UInt16(parts[0]), let month = UInt8(parts[1]),
    let day = UInt8(parts[2]), (1...12).contains(month), year >= 1
  else { return false }
  let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  let days: [UInt8] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  return (1...days[Int(month) - 1]).contains(day)
}

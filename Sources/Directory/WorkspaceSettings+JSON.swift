public import JSON

extension WorkspaceSettings {
  /// The setting with its defaults, as the REST API shows it.
  public func value(_ key: Key) -> JSONValue {
    switch key {
    case .widget: widget.value
    case .hours: hours.value
    case .greetingMessage: greetingMessage.value
    case .awayMessage: awayMessage.value
    case .prechat: prechat.value
    case .offline: offline.value
    case .queue: queue.value
    case .rating: rating.value
    case .retention: retention.value
    case .security: security.value
    case .routing: routing.value
    case .watching: watching.value
    case .attachments: attachments.value
    case .mail: mail.value
    }
  }
}

extension WorkspaceSettings.Widget {
  var value: JSONValue {
    .object([
      "name": .text(name), "accent": .text(accent), "locale": .string(locale),
      "theme": .string(theme), "position": .string(position),
      "greeting": greeting?.value ?? .null, "preview": .bool(preview), "sound": .bool(sound),
      "teaser": .bool(teaser),
    ])
  }
}

extension WorkspaceSettings.Greeting {
  public var value: JSONValue { .object(["title": .string(title), "text": .string(text)]) }
}

extension WorkspaceSettings.Hours {
  var value: JSONValue {
    .object([
      "always": .bool(always), "time_zone": .string(timeZone),
      "days": .array(days.map(\.value)), "holidays": .array(holidays.map { .string($0) }),
    ])
  }
}

extension WorkspaceSettings.Opening {
  var value: JSONValue {
    .object(["day": .int(day), "from": .string(clock(from)), "to": .string(clock(to))])
  }

  private func clock(_ minutes: Int) -> String {
    func twoDigits(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return "\(twoDigits(minutes / 60)):\(twoDigits(minutes % 60))"
  }
}

extension WorkspaceSettings.Routing {
  var value: JSONValue {
    .object([
      "rules": .array(
        rules.map {
          .object([
            "page": .string($0.page), "language": .string($0.language), "team": .string($0.team),
          ])
        })
    ])
  }
}

extension WorkspaceSettings.BotMessage {
  public var value: JSONValue { .object(["enabled": .bool(isEnabled), "text": .string(text)]) }
}

extension WorkspaceSettings.Prechat {
  public var value: JSONValue {
    .object(["enabled": .bool(isEnabled), "fields": .array(fields.map(\.value))])
  }
}

extension WorkspaceSettings.Prechat.Field {
  var value: JSONValue {
    var members: [String: JSONValue] = [
      "key": .string(key), "label": .string(label), "type": .string(type),
      "required": .bool(isRequired),
    ]
    if !options.isEmpty { members["options"] = .array(options.map { .string($0) }) }
    return .object(members)
  }
}

extension WorkspaceSettings.Queue {
  var value: JSONValue {
    .object([
      "capacity": .int(capacity), "assign": .string(assign),
      "reassign_after_seconds": .int(reassignAfterSeconds),
      "close_after_minutes": .int(closeAfterMinutes),
      "show_position": .bool(showsPosition),
      "first_response_minutes": .int(firstResponseMinutes),
      "resolution_minutes": .int(resolutionMinutes),
    ])
  }
}

extension WorkspaceSettings.Retention {
  var value: JSONValue { .object(["deleted_days": .int(deletedDays)]) }
}

extension WorkspaceSettings.Attachments {
  var value: JSONValue {
    .object([
      "enabled": .bool(isEnabled), "bytes_max": .int(bytesMax),
      "types": .array(types.map { .string($0) }), "total_bytes": .int(totalBytes),
    ])
  }
}

extension WorkspaceSettings.Rating {
  public var value: JSONValue {
    .object(["enabled": .bool(isEnabled), "question": .text(question)])
  }
}

extension WorkspaceSettings.Security {
  var value: JSONValue { .object(["require_second_factor": .bool(requiresSecondFactor)]) }
}

extension WorkspaceSettings.Mail {
  var value: JSONValue {
    .object([
      "answers": .bool(sendsAnswers), "answers_after_seconds": .int(answersAfterSeconds),
      "sender_name": .string(senderName), "sender_address": .string(senderAddress),
      "reply_to": .string(replyTo), "offline_to": .string(offlineTo),
      "alert_to": .string(alertTo), "alert_after_seconds": .int(alertAfterSeconds),
      "transcripts": .bool(sendsTranscripts),
    ])
  }
}

extension WorkspaceSettings.Watching {
  var value: JSONValue { .object(["enabled": .bool(isEnabled)]) }
}

/// Schemas of channels and of what was sent on them.
extension Schema {
  private static let channel = object([
    "name": text, "webhook_path": text,
    "webhook_url": text.orNull.described("Null: the gateway does not know its public URL."),
    "signing_credential": text, "sending_credential": text,
    "receives": bool, "sends": bool,
    "capabilities": object([
      "typing": bool, "read_marks": bool, "buttons": bool, "attachments": bool,
      "text_characters": count,
    ]),
  ]).named("Channel")
  static let channels = object(["channels": array(of: channel)]).named("Channels")

  static let channelTrial = object([
    "works": bool, "account": text.orNull, "detail": text,
  ]).named("ChannelTrial")

  static let channelQuota = object([
    "quota": object([
      "used": count, "limit": count.orNull.described("Null: as many as the account likes."),
    ]).orNull.described("Null: the platform has none, or did not tell it."),
    "detail": text,
  ]).named("ChannelQuota")

  static let channelDelivery = object([
    "message": id, "seq": seq, "status": word(["sent", "failed", "unknown", "pending"]),
    "reason": text.orNull, "at": time.orNull,
  ]).named("ChannelDelivery")

  static let channelDeliveries = object([
    "channel": text, "is_blocked": bool,
    "problem": text.orNull.described("Why the last attempt failed, if a message waits."),
    "deliveries": array(of: channelDelivery).described("The newest 500, the oldest first."),
  ]).named("ChannelDeliveries")
}

/// Schemas of webhooks and their deliveries.
import Webhooks

extension Schema {
  private static let event = word(WebhookEvent.allCases.map(\.rawValue))
  private static let webhookMembers: [String: Schema] = [
    "id": id, "url": text,
    "events": array(of: event).described("The events to deliver; empty: all."),
    "is_enabled": bool, "created_at": time, "failures": count, "failing_since": time.orNull,
  ]
  private static let webhook = object(webhookMembers).named("Webhook")

  static let webhooks = object([
    "webhooks": array(of: webhook), "events": array(of: event), "next_cursor": nextCursor,
  ]).named("Webhooks")
  static let oneWebhook = object(["webhook": webhook]).named("WebhookAnswer")
  static let madeWebhook = object([
    "webhook": object(
      webhookMembers,
      sometimes: [
        "secret": text.described("The secret that signs deliveries; only in the first response.")
      ])
  ]).named("MadeWebhook")

  private static let webhookURL = string(
    0...WebhookAddress.bytesMax, pattern: #"^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$"#, format: "webhook"
  ).described("https:// or http://, a public host, no user, no fragment.")
  private static let webhookChanges = [
    "events": array(of: event), "is_enabled": bool,
  ]
  static let newWebhook = input(["url": webhookURL], optional: webhookChanges).named("NewWebhook")
  static let webhookChange = input(
    optional: webhookChanges.merging(["url": webhookURL]) { first, _ in first }
  ).named("WebhookChange")

  private static let deliveryStates = ["pending", "delivered", "failed"]
  private static let delivery = object([
    "id": id, "event": word(WebhookEvent.allCases.map(\.rawValue) + [WebhookEvent.test]),
    "conversation": id.orNull, "status": word(deliveryStates), "attempts": count,
    "next_attempt_at": time.orNull, "last_error": text.orNull, "created_at": time,
    "delivered_at": time.orNull,
  ]).named("Delivery")
  static let oneDelivery = object(["delivery": delivery]).named("DeliveryAnswer")
  static let deliveries = page("deliveries", of: delivery).named("Deliveries")

  static let deliveryStatus = word(deliveryStates)
}

extension [QueryParameter] {
  static let deliveries: [QueryParameter] = [
    QueryParameter(name: "status", schema: .deliveryStatus), .cursor, .limit,
  ]
}

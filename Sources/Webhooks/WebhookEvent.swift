/// What a webhook can be told of. The triggers of the migration `20261126_webhook_outbox` write
/// these names; a test holds both equal.
public enum WebhookEvent: String, CaseIterable, Sendable {
  case visitorCreated = "visitor.created"
  case conversationCreated = "conversation.created"
  case conversationClaimed = "conversation.claimed"
  case conversationAssigned = "conversation.assigned"
  case conversationUnassigned = "conversation.unassigned"
  case conversationTransferred = "conversation.transferred"
  case conversationHandover = "conversation.handover"
  case conversationClosed = "conversation.closed"
  case conversationReopened = "conversation.reopened"
  case messageCreated = "message.created"
  case ratingCreated = "rating.created"

  /// Comes only when somebody asks for it, whatever events are chosen.
  public static let test = "webhook.test"
}

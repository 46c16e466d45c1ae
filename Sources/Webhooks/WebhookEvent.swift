/// The events that webhooks receive. The triggers of the migrations `20261126_webhook_outbox`,
/// `20261212_delete_conversations` and `20270410_merged_visitors` write these names; a test keeps
/// both equal.
public enum WebhookEvent: String, CaseIterable, Sendable {
  case visitorCreated = "visitor.created"
  case visitorMerged = "visitor.merged"
  case conversationCreated = "conversation.created"
  case conversationClaimed = "conversation.claimed"
  case conversationAssigned = "conversation.assigned"
  case conversationUnassigned = "conversation.unassigned"
  case conversationTransferred = "conversation.transferred"
  case conversationHandover = "conversation.handover"
  case conversationClosed = "conversation.closed"
  case conversationReopened = "conversation.reopened"
  case conversationDeleted = "conversation.deleted"
  case conversationRestored = "conversation.restored"
  case messageCreated = "message.created"
  case ratingCreated = "rating.created"

  /// Sent on request only, to webhooks with any selection of events.
  public static let test = "webhook.test"
}

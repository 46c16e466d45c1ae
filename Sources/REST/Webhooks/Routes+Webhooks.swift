/// Addresses of other systems that are told what happens.
extension API {
  static let webhookRoutes: [Route] = [
    Route(
      "GET", webhooks, .member(.admin, .webhooksRead, WebhookRoutes.listWebhooks),
      "List the webhooks",
      answer: .webhooks),
    Route(
      "POST", webhooks, .member(.admin, .webhooksWrite, WebhookRoutes.createWebhook),
      "Make a webhook",
      body: .newWebhook, status: 201, answer: .madeWebhook),
    Route(
      "GET", "\(webhooks)/{id}", .member(.admin, .webhooksRead, WebhookRoutes.showWebhook),
      "Show a webhook", answer: .oneWebhook),
    Route(
      "PATCH", "\(webhooks)/{id}", .member(.admin, .webhooksWrite, WebhookRoutes.changeWebhook),
      "Change a webhook", body: .webhookChange, answer: .oneWebhook),
    Route(
      "DELETE", "\(webhooks)/{id}", .member(.admin, .webhooksWrite, WebhookRoutes.deleteWebhook),
      "Delete a webhook and its deliveries", status: 204),
    Route(
      "POST", "\(webhooks)/{id}/test", .member(.admin, .webhooksWrite, WebhookRoutes.testWebhook),
      "Send a test", body: .nothing, status: 202, answer: .oneDelivery),
    Route(
      "GET", "\(webhooks)/{id}/deliveries",
      .member(.admin, .webhooksRead, WebhookRoutes.listDeliveries),
      "List what a webhook was told, newest first", query: .deliveries,
      answer: .deliveries),
    Route(
      "POST", "\(webhooks)/{id}/deliveries/{delivery}/redeliver",
      .member(.admin, .webhooksWrite, WebhookRoutes.redeliver),
      "Send a delivery again, under the same id",
      body: .nothing, status: 202, answer: .oneDelivery),
  ]

  private static let webhooks = "\(admin)/webhooks"
}

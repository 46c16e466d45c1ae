/// Webhooks: the URLs of other systems that receive events, and their deliveries.
extension API {
  static let webhookRoutes: [Route] = [
    Route(
      "GET", webhooks, .member(.admin, .webhooksRead, WebhookRoutes.listWebhooks),
      "List the webhooks, oldest first", response: .webhooks),
    Route(
      "POST", webhooks, .member(.admin, .webhooksWrite, WebhookRoutes.createWebhook),
      "Create a webhook; its secret is returned once", body: .newWebhook, status: 201,
      response: .madeWebhook),
    Route(
      "GET", "\(webhooks)/{id}", .member(.admin, .webhooksRead, WebhookRoutes.showWebhook),
      "Get a webhook", response: .oneWebhook),
    Route(
      "PATCH", "\(webhooks)/{id}", .member(.admin, .webhooksWrite, WebhookRoutes.changeWebhook),
      "Change a webhook", body: .webhookChange, response: .oneWebhook),
    Route(
      "DELETE", "\(webhooks)/{id}", .member(.admin, .webhooksWrite, WebhookRoutes.deleteWebhook),
      "Delete a webhook and its deliveries", status: 204),
    Route(
      "POST", "\(webhooks)/{id}/test", .member(.admin, .webhooksWrite, WebhookRoutes.testWebhook),
      "Send a test event", body: .nothing, status: 202, response: .oneDelivery),
    Route(
      "GET", "\(webhooks)/{id}/deliveries",
      .member(.admin, .webhooksRead, WebhookRoutes.listDeliveries),
      "List the deliveries of a webhook, newest first", query: .deliveries,
      response: .deliveries, isExpensive: true),
    Route(
      "POST", "\(webhooks)/{id}/deliveries/{delivery}/redeliver",
      .member(.admin, .webhooksWrite, WebhookRoutes.redeliver),
      "Send a delivery again, with the same id", body: .nothing, status: 202,
      response: .oneDelivery),
  ]

  private static let webhooks = "\(admin)/webhooks"
}

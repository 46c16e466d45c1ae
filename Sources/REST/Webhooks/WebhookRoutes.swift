/// Webhooks for administrators; `config/WEBHOOKS.md` describes what a receiver gets.
import Directory
import JSON
import Primitives
import Webhooks

struct WebhookRoutes: RouteGroup {
  let api: API

  func listWebhooks(_ call: Call) async throws(Problem) -> APIResponse {
    let webhooks = try await api.database.run(Webhook.list(of: call.workspace))
    return .json(
      [UInt8].object { json in
        json.appendArray("webhooks", webhooks) { append($0, to: &$1) }
        json.appendMember("events", texts: WebhookEvent.allCases.map(\.rawValue))
        json.appendMember("next_cursor", json: "null")
      })
  }

  func showWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    response(try await webhook(call))
  }

  func createWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    guard let url = try url(object) else { throw .missing("url") }
    let events = try events(call.request.body) ?? []
    let isEnabled = try object.bool("is_enabled") ?? true
    let id = call.newID()
    let secret = WebhookSignature.makeSecret()
    let sealed = api.options.secrets.seal(Array(secret.utf8), place: Delivery.place(of: id))
    let created = try await api.database.run(
      Webhook.create(
        id, url: url, events: events, isEnabled: isEnabled, secret: sealed, by: call.actor))
    guard let created else { throw .tooManyWebhooks }
    var response = response(created, secret: secret, status: 201)
    response.repeatable = self.response(created).body
    return response
  }

  func changeWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let changed = try await api.database.run(
      Webhook.change(
        call.id, url: try url(object), events: try events(call.request.body),
        isEnabled: try object.bool("is_enabled"), by: call.actor))
    guard let changed else { throw .noSuchWebhook }
    return response(changed)
  }

  func deleteWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    let isDeleted = try await api.database.run(Webhook.delete(call.id, by: call.actor))
    guard isDeleted else { throw .noSuchWebhook }
    return APIResponse(status: 204)
  }

  func testWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    let delivery = try await api.database.run(
      DeliveryRecord.test(call.newID(), of: call.id, workspace: call.workspace))
    return try await accepted(delivery, call)
  }

  func redeliver(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    let delivery = try await api.database.run(
      DeliveryRecord.repeated(
        call.parameters.id("delivery"), of: call.id, workspace: call.workspace))
    return try await accepted(delivery, call)
  }

  func listDeliveries(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("deliveries", keys: 2)
    let status = try QueryString(call.request.query).formatted("status")
    guard status == nil || ["pending", "delivered", "failed"].contains(status) else {
      throw .invalidParameter("status", "pending, delivered or failed")
    }
    _ = try await webhook(call)
    let records = try await api.expensiveDatabase.run(
      DeliveryRecord.page(
        of: call.id, workspace: call.workspace, status: status, after: try page.position,
        limit: page.rowsWanted))
    let shown = records.prefix(page.limit)
    var next: String?
    if records.count > page.limit, let last = shown.last {
      next = page.cursor(after: ["\(last.createdAt.microseconds)", "\(last.id)"])
    }
    return .json(
      [UInt8].object { json in
        json.appendArray("deliveries", shown) { append($0, to: &$1) }
        json.appendMember("next_cursor", orNull: next)
      })
  }

  // MARK: Requests

  /// The webhook that the path names.
  private func webhook(_ call: Call) async throws(Problem) -> Webhook {
    let webhook = try await api.database.run(Webhook.find(call.id, of: call.workspace))
    guard let webhook else { throw .noSuchWebhook }
    return webhook
  }

  private func url(_ object: JSONObject) throws(Problem) -> String? {
    guard let text = try object.string("url", bytesMax: WebhookAddress.bytesMax) else { return nil }
    do throws(WebhookAddress.Fault) {
      return try WebhookAddress(text, under: api.options.webhookGuard).url
    } catch {
      throw .badWebhookAddress(error)
    }
  }

  /// The events in the order of `WebhookEvent`, without duplicates; nil if the member is missing.
  private func events(_ body: [UInt8]) throws(Problem) -> [String]? {
    let values: [JSONValue]
    switch JSONValue(body)?["events"] {
    case nil, .null: return nil
    case .array(let elements): values = elements
    default: throw .invalidMember("events", "an array of events")
    }
    var chosen: Set<WebhookEvent> = []
    for value in values {
      guard case .string(let name) = value, let event = WebhookEvent(rawValue: name) else {
        throw .member(
          "events",
          "has an unknown event. The events are "
            + WebhookEvent.allCases.map(\.rawValue).joined(separator: ", ") + ".")
      }
      chosen.insert(event)
    }
    return WebhookEvent.allCases.filter { chosen.contains($0) }.map(\.rawValue)
  }

  // MARK: Responses

  private func response(
    _ webhook: Webhook, secret: String? = nil, status: Int = 200
  ) -> APIResponse {
    .json(
      [UInt8].object { json in
        json.appendKey("webhook")
        append(webhook, secret: secret, to: &json)
      }, status: status)
  }

  /// The response to a delivery that was enqueued. Nil: the delivery or its webhook does not exist,
  /// or the webhook is disabled.
  private func accepted(
    _ record: DeliveryRecord?, _ call: Call
  ) async throws(Problem) -> APIResponse {
    guard let record else {
      throw try await webhook(call).isEnabled ? .noSuchDelivery : .webhookDisabled
    }
    return .json(
      [UInt8].object { json in
        json.appendKey("delivery")
        append(record, to: &json)
      }, status: 202)
  }

  private func append(_ webhook: Webhook, secret: String? = nil, to json: inout [UInt8]) {
    json += [UInt8].object { json in
      json.appendMember("id", webhook.id)
      json.appendMember("url", webhook.url)
      json.appendMember("events", texts: webhook.events)
      json.appendMember("is_enabled", webhook.isEnabled)
      json.appendMember("created_at", webhook.createdAt)
      json.appendMember("failures", webhook.failures)
      json.appendMember("failing_since", webhook.failingSince)
      json.appendMember("secret", ifAny: secret)
    }
  }

  private func append(_ record: DeliveryRecord, to json: inout [UInt8]) {
    json += [UInt8].object { json in
      json.appendMember("id", record.id)
      json.appendMember("event", record.event)
      json.appendMember("conversation", orNull: record.session)
      json.appendMember("status", record.status)
      json.appendMember("attempts", record.attempts)
      json.appendMember("next_attempt_at", record.nextAttemptAt)
      json.appendMember("last_error", orNull: record.lastError)
      json.appendMember("created_at", record.createdAt)
      json.appendMember("delivered_at", record.deliveredAt)
    }
  }
}

extension Problem {
  static let noSuchWebhook = Problem(
    status: 404, type: "no_such_webhook", title: "No such webhook",
    detail: "Your workspace has no webhook with this id. It may have been deleted.")
  static let noSuchDelivery = Problem(
    status: 404, type: "no_such_delivery", title: "No such delivery",
    detail: "This webhook has no delivery with this id. Old deliveries are deleted.")
  static let webhookDisabled = Problem(
    status: 409, type: "webhook_disabled", title: "Webhook disabled",
    detail: "This webhook is disabled. Enable it first.")
  static let tooManyWebhooks = Problem(
    status: 409, type: "too_many_webhooks", title: "Too many webhooks",
    detail: "The workspace has \(Webhook.countMax) webhooks, the most it may have. Delete one "
      + "first.")

  static func badWebhookAddress(
    _ fault: WebhookAddress.Fault, member: String = "url"
  ) -> Problem {
    let predicate =
      switch fault {
      case .tooLong: "must have at most \(WebhookAddress.bytesMax) bytes."
      case .notHTTP: "must begin with https:// or http://."
      case .hasUser: "must not contain a user and password. Verify the signature instead."
      case .noHost: "must have a host: a name, or an IP address in its usual form."
      case .badPort: "has an invalid port."
      case .badCharacter:
        "contains a character that is not allowed in a URL, or a fragment. Percent-encode the "
          + "character, and remove the fragment."
      case .portForbidden: "has a port to which this gateway does not deliver."
      case .privateAddress:
        "is an address of a private network, to which this gateway does not deliver."
      }
    return .member(member, predicate)
  }
}

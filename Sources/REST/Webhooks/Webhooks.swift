/// What administrators do with webhooks; `config/WEBHOOKS.md` says what a receiver gets.
import Directory
import JSON
import Postgres
import Primitives
import Webhooks

struct WebhookRoutes: RouteGroup {
  let rest: API

  func listWebhooks(_ call: Call) async throws(Problem) -> APIResponse {
    let found = try await rest.run(Webhook.list(of: call.workspace))
    var json = Array("{\"webhooks\":[".utf8)
    for webhook in found {
      json.appendComma()
      append(webhook, to: &json)
    }
    json.append(UInt8(ascii: "]"))
    json.appendMember("events", texts: WebhookEvent.allCases.map(\.rawValue))
    json.appendMember("next_cursor", json: "null")
    json.append(UInt8(ascii: "}"))
    return .json(json)
  }

  func showWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    let found = try await rest.run(Webhook.find(call.session, of: call.workspace))
    guard let found else { throw .noSuchWebhook }
    return answer(found)
  }

  func createWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    guard let url = try url(object) else { throw .missing("url") }
    let events = try events(call.request.body) ?? []
    let isEnabled = try object.bool("is_enabled") ?? true
    let id = rest.identifier(call.request.now)
    let secret = WebhookSignature.makeSecret()
    let sealed = rest.options.secrets.seal(Array(secret.utf8), place: Delivery.place(of: id))
    let made = try await rest.run(
      Webhook.create(
        id, of: call.workspace, url: url, events: events, isEnabled: isEnabled, secret: sealed,
        by: actor(call)))
    guard let made else { throw .tooManyWebhooks }
    var response = answer(made, secret: secret, status: 201)
    response.repeatable = answer(made).body
    return response
  }

  func changeWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let changed = try await rest.run(
      Webhook.change(
        call.session, of: call.workspace, url: try url(object),
        events: try events(call.request.body),
        isEnabled: try object.bool("is_enabled"), by: actor(call)))
    guard let changed else { throw .noSuchWebhook }
    return answer(changed)
  }

  func deleteWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    let isDeleted = try await rest.run(
      Webhook.delete(call.session, of: call.workspace, by: actor(call)))
    guard isDeleted else { throw .noSuchWebhook }
    return APIResponse(status: 204)
  }

  func testWebhook(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try rest.declaredObject(call.request)
    let record = try await rest.run(
      DeliveryRecord.test(
        rest.identifier(call.request.now), of: call.session, workspace: call.workspace))
    return try await answer(record, call)
  }

  func redeliver(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try rest.declaredObject(call.request)
    let record = try await rest.run(
      DeliveryRecord.repeated(
        call.parameters.id("delivery"), of: call.session, workspace: call.workspace))
    return try await answer(record, call)
  }

  /// Newest first; with `status`, only those.
  func listDeliveries(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("deliveries", keys: 2)
    let status = try QueryString(call.request.query).formed("status")
    guard status == nil || ["pending", "delivered", "failed"].contains(status) else {
      throw .invalid("The parameter “status” is pending, delivered or failed.")
    }
    let found = try await rest.run(Webhook.find(call.session, of: call.workspace))
    guard found != nil else { throw .noSuchWebhook }
    let records = try await rest.run(
      DeliveryRecord.page(
        of: call.session, workspace: call.workspace, status: status, after: try page.time(0),
        id: try page.id(1), limit: page.limit + 1))
    var json = Array("{\"deliveries\":[".utf8)
    for record in records.prefix(page.limit) {
      json.appendComma()
      append(record, to: &json)
    }
    json.append(UInt8(ascii: "]"))
    if records.count > page.limit {
      let last = records[page.limit - 1]
      json.appendMember(
        "next_cursor", page.encode(["\(last.createdAt.microseconds)", "\(last.id)"]))
    } else {
      json.appendMember("next_cursor", json: "null")
    }
    json.append(UInt8(ascii: "}"))
    return .json(json)
  }

  // MARK: What comes

  private func actor(_ call: Call) -> WebhookActor {
    WebhookActor(id: call.caller.id, kind: call.caller.actor)
  }

  private func url(_ object: JSONObject) throws(Problem) -> String? {
    guard let text = try object.string("url", bytesMax: WebhookAddress.bytesMax) else { return nil }
    do throws(WebhookAddress.Fault) {
      return try WebhookAddress(text, under: rest.options.webhookGuard).url
    } catch {
      throw .badWebhookAddress(error)
    }
  }

  private func events(_ body: [UInt8]) throws(Problem) -> [String]? {
    let values: [JSONValue]
    switch JSONValue(body)?["events"] {
    case nil, .null: return nil
    case .array(let elements): values = elements
    default: throw .wrongType("events", "a list of events")
    }
    var chosen: Set<WebhookEvent> = []
    for value in values {
      guard case .string(let name) = value, let event = WebhookEvent(rawValue: name) else {
        throw .invalid(
          "There is no such event; the events are: "
            + WebhookEvent.allCases.map(\.rawValue).joined(separator: ", ") + ".")
      }
      chosen.insert(event)
    }
    return WebhookEvent.allCases.filter { chosen.contains($0) }.map(\.rawValue)
  }

  // MARK: What is answered

  private func answer(
    _ webhook: Webhook, secret: String? = nil, status: Int = 200
  ) -> APIResponse {
    .json(
      [UInt8].object { json in
        json.appendKey("webhook")
        append(webhook, secret: secret, to: &json)
      }, status: status)
  }

  private func answer(
    _ record: DeliveryRecord?, _ call: Call
  ) async throws(Problem) -> APIResponse {
    guard let record else {
      let webhook = try await rest.run(Webhook.find(call.session, of: call.workspace))
      guard let webhook else { throw .noSuchWebhook }
      throw webhook.isEnabled ? .noSuchDelivery : .webhookDisabled
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
      if let secret { json.appendMember("secret", secret) }
    }
  }

  private func append(_ record: DeliveryRecord, to json: inout [UInt8]) {
    json += [UInt8].object { json in
      json.appendMember("id", record.id)
      json.appendMember("event", record.event)
      if let session = record.session {
        json.appendMember("conversation", session)
      } else {
        json.appendMember("conversation", json: "null")
      }
      json.appendMember("status", record.status)
      json.appendMember("attempts", record.attempts)
      json.appendMember("next_attempt_at", record.nextAttemptAt)
      if let error = record.lastError {
        json.appendMember("last_error", error)
      } else {
        json.appendMember("last_error", json: "null")
      }
      json.appendMember("created_at", record.createdAt)
      json.appendMember("delivered_at", record.deliveredAt)
    }
  }
}

extension Problem {
  static let noSuchWebhook = Problem(
    status: 404, type: "no_such_webhook", title: "No such webhook",
    detail: "There is no webhook with this id in your workspace; it may have been deleted.")
  static let noSuchDelivery = Problem(
    status: 404, type: "no_such_delivery", title: "No such delivery",
    detail: "This webhook has no delivery with this id; old ones are forgotten.")
  static let webhookDisabled = Problem(
    status: 409, type: "webhook_disabled", title: "Webhook disabled",
    detail: "This webhook is disabled; enable it first.")
  static let tooManyWebhooks = Problem(
    status: 409, type: "too_many_webhooks", title: "Too many webhooks",
    detail: "A workspace may have \(Webhook.countMax) webhooks; delete one first.")

  static func badWebhookAddress(_ fault: WebhookAddress.Fault) -> Problem {
    let detail =
      switch fault {
      case .tooLong: "may have \(WebhookAddress.bytesMax) bytes."
      case .notHTTP: "begins with https:// or http://."
      case .hasUser: "may have no user and password; a delivery is signed instead."
      case .noHost: "needs a host: a name, or an address in its usual form."
      case .badPort: "has a port that is none."
      case .badCharacter: "may have only the characters of a URL, without a fragment."
      case .portForbidden: "has a port to which this gateway does not deliver."
      case .privateAddress: "leads into a private network, to which this gateway does not deliver."
      }
    return .invalid("The member “url” " + detail)
  }
}

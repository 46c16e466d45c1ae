/// Push messages to the browser of the caller's login: what it needs for a subscription, and the
/// subscription itself, which ends with the login.
import Directory
import JSON
import OpenSSL
import Postgres
import Primitives
import WebPush

struct PushRoutes: RouteGroup {
  let api: API

  func show(_ call: Call) async throws(Problem) -> APIResponse {
    let point = try await publicKey()
    let choices = try await login(call)?.choices
    return .json(
      [UInt8].object { json in
        json.appendMember("public_key", Base64.url.encode(point))
        json.appendMember("subscribed", choices != nil)
        json.appendMember("waiting", (choices ?? PushChoices()).waiting)
        json.appendMember("messages", (choices ?? PushChoices()).messages)
        json.appendMember("texts", (choices ?? PushChoices()).texts)
      })
  }

  func put(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let subscription = try subscription(object)
    guard let (login, known) = try await login(call) else { throw .noBrowserLogin }
    var choices = known ?? PushChoices()
    choices.waiting = try object.bool("waiting") ?? choices.waiting
    choices.messages = try object.bool("messages") ?? choices.messages
    choices.texts = try object.bool("texts") ?? choices.texts
    let isStored = try await api.database.run(
      subscription.put(
        login: login, choices, sealedBy: api.options.secrets, by: call.actor))
    guard isStored else { throw .noBrowserLogin }
    return APIResponse(status: 204)
  }

  /// Succeeds also if there is none: the gateway may have deleted it before.
  func delete(_ call: Call) async throws(Problem) -> APIResponse {
    guard let (login, _) = try await login(call) else { throw .noBrowserLogin }
    _ = try await api.database.run(PushSubscription.delete(login: login, by: call.actor))
    return APIResponse(status: 204)
  }

  /// Nil for a token of the command line.
  private func login(
    _ call: Call
  ) async throws(Problem) -> (login: Identifier, choices: PushChoices?)? {
    guard let hash = try api.authenticator.currentLogin(call.request) else { return nil }
    return try await api.database.run(PushSubscription.find(login: hash))
  }

  private func subscription(_ object: JSONObject) throws(Problem) -> PushSubscription {
    let address = try object.requiredString(
      "endpoint", bytesMax: PushSubscription.addressBytesMax)
    guard let keys = try object.nested("keys") else { throw .missing("keys") }
    let point = try keys.requiredString("p256dh", bytesMax: APILimits.pushKeyBytes)
    let auth = try keys.requiredString("auth", bytesMax: APILimits.pushKeyBytes)
    do throws(PushSubscription.Fault) {
      return try PushSubscription(
        address: address, point: point, auth: auth, under: api.options.webhookGuard)
    } catch {
      switch error {
      case .address(let fault): throw .badWebhookAddress(fault, member: "endpoint")
      case .notSecure: throw .member("endpoint", "must begin with https://.")
      case .key:
        throw .invalidMember("p256dh", in: keys, "a public key of P-256 in base64url")
      case .auth: throw .invalidMember("auth", in: keys, "16 bytes in base64url")
      }
    }
  }

  /// The gateways' public key, which is made when it is needed first.
  private func publicKey() async throws(Problem) -> [UInt8] {
    let secrets = api.options.secrets
    let known = try await api.database.run(PushKey.find)
    let stored =
      if let known { known } else {
        try await api.database.run(PushKey.make(P256Key(), sealedBy: secrets)) as PushKey.Stored?
      }
    guard let stored else { throw .unavailable }
    guard stored.open(by: secrets) != nil else { throw .unreadablePushKey }
    return stored.point
  }
}

extension Problem {
  fileprivate static let noBrowserLogin = Problem(
    status: 409, type: "no_login", title: "No login",
    detail: "Push messages belong to a login in a browser, and this request has none.")

  fileprivate static let unreadablePushKey = Problem(
    status: 503, type: "push_key_unreadable", title: "Push key unreadable",
    detail: "The gateway cannot decrypt its key for push messages: a credentials_key is missing.")
}

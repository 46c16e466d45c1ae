/// Channels for members: what is stored for each, whether it works, what is used of the quota, and
/// what was sent, and is to be sent again.
import Channels
import Directory
import HTTPClient
import JSON
import Kernel
import Primitives

struct ChannelRoutes: RouteGroup {
  let api: API

  /// The most time for a trial.
  private static let trialMilliseconds = 10_000

  func list(_ call: Call) async throws(Problem) -> APIResponse {
    let stored = try await api.database.run(ChannelState.stored(in: call.workspace))
    let publicURL = api.options.publicURL
    return .json(
      [UInt8].object { json in
        json.appendArray("channels", Channels.all) { channel, json in
          let names = stored.credentials[channel.name] ?? []
          let path = ChannelWebhookRoutes.path(of: channel.name, key: stored.key)
          json += [UInt8].object { json in
            json.appendMember("name", channel.name)
            json.appendMember("webhook_path", path)
            json.appendMember("webhook_url", orNull: publicURL.map { $0 + path })
            json.appendMember("signing_credential", channel.signingCredential)
            json.appendMember("sending_credential", channel.sendingCredential)
            json.appendMember("receives", names.contains(channel.signingCredential))
            json.appendMember("sends", names.contains(channel.sendingCredential))
            append(channel.capabilities, to: &json)
          }
        }
      })
  }

  private func append(_ capabilities: ChannelCapabilities, to json: inout [UInt8]) {
    json.appendObject("capabilities") {
      $0.appendMember("typing", capabilities.typing)
      $0.appendMember("read_marks", capabilities.readMarks)
      $0.appendMember("buttons", capabilities.buttons)
      $0.appendMember("attachments", capabilities.attachments)
      $0.appendMember("text_characters", Int64(capabilities.textUnitsMax))
    }
  }

  /// Asks the platform for the account's name. A fault is the result.
  func test(_ call: Call) async throws(Problem) -> APIResponse {
    let answer = try await ask(call) { channel, base, secret in
      [
        channel.trialRequest(
          at: base, secret: secret, milliseconds: ChannelRoutes.trialMilliseconds)
      ]
    }
    switch answer {
    case .failed(let reason): return trial(nil, reason)
    case .answered(let channel, let bodies):
      let name = bodies.first.flatMap { channel.accountName(in: $0) }
      return trial(name ?? "", "The account answers.")
    }
  }

  /// Asks the platform for its quota of messages. A fault is the result.
  func quota(_ call: Call) async throws(Problem) -> APIResponse {
    let answer = try await ask(call) { channel, base, secret in
      channel.quotaRequests(
        at: base, secret: secret, milliseconds: ChannelRoutes.trialMilliseconds)
    }
    switch answer {
    case .failed(let reason): return quota(nil, reason)
    case .answered(_, let bodies) where bodies.isEmpty: return quota(nil, "")
    case .answered(let channel, let bodies):
      let quota = channel.quota(in: bodies)
      return self.quota(quota, quota == nil ? "The platform's answer is not known." : "")
    }
  }

  private func quota(_ quota: ChannelQuota?, _ detail: String) -> APIResponse {
    .json(
      [UInt8].object { json in
        if let quota {
          json.appendObject("quota") {
            $0.appendMember("used", quota.used)
            $0.appendMember("limit", orNull: quota.limit)
          }
        } else {
          json.appendMember("quota", json: Array("null".utf8))
        }
        json.appendMember("detail", detail)
      })
  }

  private enum Answer {
    /// The bodies of all answers.
    case answered(any Channel, [[UInt8]])
    case failed(reason: String)
  }

  /// Sends requests with the stored credential, one after another, not on a loop.
  private func ask(
    _ call: Call, _ requests: (any Channel, String, [UInt8]) -> [HTTPRequest]
  ) async throws(Problem) -> Answer {
    guard let channel = Channels.named(call.parameters.text("channel")),
      let base = api.options.platforms[channel.name]
    else { throw .noSuchChannel }
    guard
      let sealed = try await api.database.run(
        ChannelState.secret(of: channel, in: call.workspace))
    else { throw .noSuchChannel }
    let place = Credentials.place(channel.name, channel.sendingCredential, in: call.workspace)
    guard let secret = api.options.secrets.open(sealed, place: place) else {
      return .failed(reason: "The credential cannot be decrypted here: its key is missing.")
    }
    let wanted = requests(channel, base, secret)
    let result = try await api.servers.providers.run(for: call.workspace) {
      (_) throws(ChannelFault) -> [[UInt8]] in
      var bodies: [[UInt8]] = []
      for request in wanted {
        // The gateway's administrator alone chooses the platforms' addresses.
        switch HTTPClient.outcome(of: request, admits: { _ in true }) {
        case .answered(let status, let body, _) where (200..<300).contains(status):
          bodies.append(body)
        case .answered(let status, let body, _): throw ChannelFault(channel.reason(status, body))
        case .refused: throw ChannelFault("The platform's address is refused.")
        case .failed(let reason): throw ChannelFault(reason)
        }
      }
      return bodies
    }
    api.options.onResume()
    switch result {
    case .success(let bodies): return .answered(channel, bodies)
    case .failure(let fault): return .failed(reason: fault.reason)
    }
  }

  private func trial(_ account: String?, _ detail: String) -> APIResponse {
    .json(
      [UInt8].object { json in
        json.appendMember("works", account != nil)
        json.appendMember("account", orNull: account)
        json.appendMember("detail", detail)
      })
  }

  func sendAgain(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    let message = call.parameters.id("message")
    let again = try await api.database.run(
      ChannelState.sendAgain(message, of: call.id, in: call.workspace))
    switch again {
    case .unknown: throw .noSuchChannelDelivery
    case .sent: throw .isDelivered
    case .due(let seq):
      return .json(
        ChannelRoutes.delivery(message, seq, "pending", reason: nil, at: nil), status: 202)
    }
  }

  private static func delivery(
    _ message: Identifier, _ seq: Int64, _ status: String, reason: String?, at: WallTime?
  ) -> [UInt8] {
    .object { json in
      json.appendMember("message", message)
      json.appendMember("seq", seq)
      json.appendMember("status", status)
      json.appendMember("reason", orNull: reason)
      json.appendMember("at", at)
    }
  }

  func deliveries(_ call: Call) async throws(Problem) -> APIResponse {
    let found = try await api.database.run(
      ChannelState.conversation(call.id, in: call.workspace))
    guard let found else { throw .noSuchChannelConversation }
    return .json(
      [UInt8].object { json in
        json.appendMember("channel", found.channel)
        json.appendMember("is_blocked", found.isLeft)
        json.appendMember("problem", orNull: found.problem)
        json.appendArray("deliveries", found.deliveries) { delivery, json in
          json += ChannelRoutes.delivery(
            delivery.message, delivery.seq, delivery.status, reason: delivery.reason,
            at: delivery.at)
        }
      })
  }
}

extension Problem {
  static let noSuchChannelDelivery = Problem(
    status: 404, type: "no_such_delivery", title: "No such delivery",
    detail: "No message with this id has failed on the conversation's channel.")

  static let isDelivered = Problem(
    status: 409, type: "is_delivered", title: "Already delivered",
    detail: "The platform has taken the message.")

  static let noSuchChannelConversation = Problem(
    status: 404, type: "no_such_session", title: "No such conversation",
    detail: "The workspace has no conversation with this id on a channel.")
}

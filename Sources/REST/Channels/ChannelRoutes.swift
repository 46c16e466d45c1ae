/// Channels for members: what is stored for each, whether it works, and what was sent.
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
    guard let channel = Channels.named(call.parameters.text("channel")),
      let base = api.options.platforms[channel.name]
    else { throw .noSuchChannel }
    guard
      let sealed = try await api.database.run(
        ChannelState.secret(of: channel, in: call.workspace))
    else { throw .noSuchChannel }
    let place = Credentials.place(channel.name, channel.sendingCredential, in: call.workspace)
    guard let secret = api.options.secrets.open(sealed, place: place) else {
      return trial(nil, "The credential cannot be decrypted here: its key is missing.")
    }
    let request = channel.trialRequest(
      at: base, secret: secret, milliseconds: ChannelRoutes.trialMilliseconds)
    let result = try await api.servers.providers.run(for: call.workspace) {
      (_) throws(ChannelFault) in
      // The gateway's administrator alone chooses the platforms' addresses.
      HTTPClient.outcome(of: request, admits: { _ in true })
    }
    api.options.onResume()
    guard case .success(let outcome) = result else { return trial(nil, "No answer.") }
    switch outcome {
    case .answered(let status, let body, _) where (200..<300).contains(status):
      let name = channel.accountName(in: body)
      return trial(name ?? "", "The account answers.")
    case .answered(let status, _, _):
      return trial(nil, "The platform answered \(status).")
    case .refused: return trial(nil, "The platform's address is refused.")
    case .failed(let reason): return trial(nil, reason)
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
          json += [UInt8].object { json in
            json.appendMember("message", delivery.message)
            json.appendMember("seq", delivery.seq)
            json.appendMember("status", delivery.status)
            json.appendMember("reason", orNull: delivery.reason)
            json.appendMember("at", delivery.at)
          }
        }
      })
  }
}

extension Problem {
  static let noSuchChannelConversation = Problem(
    status: 404, type: "no_such_session", title: "No such conversation",
    detail: "The workspace has no conversation with this id on a channel.")
}

/// The webhook to which a platform sends events: it checks the signature, stores the events and
/// answers. What the events mean is found out afterwards, see `ChannelInbox`.
import Channels
import Chat
import Conversations
import Directory
import Primitives
import Synchronization

struct ChannelWebhookRoutes: RouteGroup {
  let api: API

  static let path = "/api/v1/channels/{channel:text}/{key:text}/webhook"

  static func path(of channel: String, key: String) -> String {
    "/api/v1/channels/\(channel)/\(key)/webhook"
  }

  func receive(_ request: APIRequest) async throws(Problem) -> APIResponse {
    let words = request.path.split(separator: "/").map(String.init)
    guard words.count == 6, let channel = Channels.named(words[3]) else { throw .noSuchChannel }
    guard let signature = request.header(channel.signatureHeader) else {
      throw refused(request, channel)
    }
    let receiver = try await api.database.run(
      ChannelEvents.receiver(publicKey: words[4], of: channel))
    guard let receiver, let sealed = receiver.secret else { throw .noSuchChannel }
    let place = Credentials.place(
      channel.name, channel.signingCredential, in: receiver.workspace)
    guard let secret = api.options.secrets.open(sealed, place: place) else {
      api.options.report(
        "the channel \(channel.name) of the workspace \(receiver.workspace) cannot be checked: the "
          + "credentials_key of its secret is not configured")
      throw .unavailable
    }
    guard channel.isAuthentic(request.body, signature: signature, secret: secret) else {
      throw refused(request, channel)
    }
    let events: [ReceivedEvent]
    do throws(ChannelFault) {
      events = try channel.events(in: request.body)
    } catch {
      throw .invalid(error.reason)
    }
    let stored =
      events.isEmpty
      ? 0
      : try await api.database.run(
        ChannelEvents.receive(
          events, on: channel.name, in: receiver.workspace,
          fetches: api.options.attachments != nil))
    api.servers.channels.note(received: stored, repeated: events.count - stored)
    if stored > 0 {
      api.sessions.happened(WorkspaceNews(workspace: receiver.workspace, kind: .received))
    }
    return .json(channel.answer(to: request.body))
  }

  /// Wrong signatures of one address are limited, all are counted.
  private func refused(_ request: APIRequest, _ channel: any Channel) -> Problem {
    api.servers.channels.noteRefused()
    do throws(Problem) {
      if !request.isExempt { try api.widgetLimits.signatures.take(request.peer, request.now) }
    } catch {
      return error
    }
    return .wrongSignature(channel.signatureHeader)
  }
}

/// What webhooks of channels have received since the start, for the metrics.
public struct ChannelFigures: Sendable, Equatable {
  public var events: UInt64 = 0
  /// Events that were received before.
  public var repeated: UInt64 = 0
  /// Requests without a valid signature.
  public var refused: UInt64 = 0

  public init() {}
}

final class ChannelCounts: Sendable {
  private let counts = Mutex(ChannelFigures())

  var figures: ChannelFigures { counts.withLock { $0 } }

  func note(received: Int, repeated: Int) {
    counts.withLock { counts in
      counts.events += UInt64(received)
      counts.repeated += UInt64(repeated)
    }
  }

  func noteRefused() { counts.withLock { $0.refused += 1 } }
}

extension Problem {
  static let noSuchChannel = Problem(
    status: 404, type: "no_such_channel", title: "No such channel",
    detail: "There is no such channel, or the workspace has stored no secret for it.")

  static func wrongSignature(_ header: String) -> Problem {
    Problem(
      status: 401, type: "wrong_signature", title: "Wrong signature",
      detail: "The header \(header) is missing, or does not prove by the channel's secret that "
        + "the platform has sent this body.",
      headers: [("WWW-Authenticate", "\(header) realm=\"chirrup\"")])
  }
}

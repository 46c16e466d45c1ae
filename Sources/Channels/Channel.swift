/// A platform on which people write to a workspace, such as LINE: what comes from it, how messages
/// are sent to it, what it can show, and its limits. All else is the same for each channel: the
/// events (`ChannelEvents`), the people and their conversations (`ChannelPeople`), and what is to
/// be sent (`ChannelOutbox`, `ChannelWorker`).
///
/// A new channel is a type with this protocol, and one line in `Channels.all`.
public import HTTPClient
public import Primitives

public protocol Channel: Sendable {
  /// As in `chat_sessions.channel`, in `friend_events.channel`, and as the service of its
  /// credentials.
  var name: String { get }
  var capabilities: ChannelCapabilities { get }
  /// The name of the credential that proves who calls the webhook.
  var signingCredential: String { get }
  /// The name of the credential that sends.
  var sendingCredential: String { get }
  /// The prefix of a person's address in the visitor's `external_id`, so that it is no other's id
  /// on the workspace's site or on another channel.
  var visitorPrefix: String { get }

  // MARK: Inbound

  /// The request header with the proof that the platform has sent a webhook's body.
  var signatureHeader: String { get }

  /// Compares in constant time.
  func isAuthentic(_ body: [UInt8], signature: String, secret: [UInt8]) -> Bool

  /// The events of a body. Events of unknown types are events too.
  func events(in body: [UInt8]) throws(ChannelFault) -> [ReceivedEvent]

  /// Returns the meaning of an event.
  func meaning(of event: [UInt8]) -> InboundEvent

  /// The JSON that answers a webhook's body once its events are stored.
  func answer(to body: [UInt8]) -> [UInt8]

  /// Returns one attempt to fetch the content of a message; nil: it cannot be fetched.
  ///
  /// - Parameter milliseconds: the time limit of a short request.
  func contentFetch(
    _ content: InboundContent, at place: MenuPlace, secret: [UInt8], milliseconds: Int,
    downloadMilliseconds: Int
  ) -> (any ContentFetch)?

  // MARK: Outbound

  /// The number of requests that send a message, each after the one before was taken.
  func requestCount(for message: OutboundMessage) -> Int

  /// A request that sends a message or, if it needs several, this part of it.
  ///
  /// - Parameter replyToken: answers the person's last event; nil: there is none.
  func request(
    for message: OutboundMessage, part: Int, replyToken: String?, at base: String,
    secret: [UInt8], milliseconds: Int
  ) -> HTTPRequest

  /// Returns the meaning of the platform's answer.
  ///
  /// - Parameters:
  ///   - wasSent: false: the platform has nothing of the request.
  ///   - mayBeUsed: an earlier attempt with this reply token has an unknown outcome, and the token
  ///     was still valid at this answer. So if it is refused, the earlier one was taken.
  func verdict(
    on outcome: HTTPOutcome, wasSent: Bool, usedReplyToken: Bool, mayBeUsed: Bool
  ) -> SendVerdict

  /// The request for a person's name and picture; nil: the platform has none.
  func profileRequest(
    of address: String, at base: String, secret: [UInt8], milliseconds: Int
  ) -> HTTPRequest?

  func profile(in body: [UInt8]) -> ChannelProfile?

  // MARK: Menus

  /// Returns one attempt to update the platform's copy of the published menu; nil: the platform
  /// shows no menus.
  ///
  /// - Parameter menu: nil: the platform must show none of ours.
  func menuSync(
    _ menu: ChannelMenu?, in workspace: Identifier, at place: MenuPlace, secret: [UInt8],
    milliseconds: Int
  ) -> (any MenuSync)?

  // MARK: Settings

  /// The request that shows whether the credential works.
  func trialRequest(at base: String, secret: [UInt8], milliseconds: Int) -> HTTPRequest

  /// The name of the account in its answer.
  func accountName(in body: [UInt8]) -> String?

  /// The requests that read the quota of messages; empty: the platform has none.
  func quotaRequests(at base: String, secret: [UInt8], milliseconds: Int) -> [HTTPRequest]

  /// The quota in their answers, in the same order.
  func quota(in bodies: [[UInt8]]) -> ChannelQuota?

  /// The platform's own words in a refusal.
  func reason(_ status: Int, _ body: [UInt8]) -> String
}

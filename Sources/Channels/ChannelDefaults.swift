/// What a channel has unless its type says otherwise: messages that need one request each, webhooks
/// that need no more than the status, and neither menus nor contents that the platform keeps nor a
/// quota of messages.
public import HTTPClient
public import Primitives

extension Channel {
  public var visitorPrefix: String { name + ":" }

  public func answer(to body: [UInt8]) -> [UInt8] { Array("{}".utf8) }

  public func requestCount(for message: OutboundMessage) -> Int { 1 }

  public func menuSync(
    _ menu: ChannelMenu?, in workspace: Identifier, at place: MenuPlace, secret: [UInt8],
    milliseconds: Int
  ) -> (any MenuSync)? { nil }

  public func contentFetch(
    _ content: InboundContent, at place: MenuPlace, secret: [UInt8], milliseconds: Int,
    downloadMilliseconds: Int
  ) -> (any ContentFetch)? { nil }

  public func quotaRequests(
    at base: String, secret: [UInt8], milliseconds: Int
  ) -> [HTTPRequest] { [] }

  public func quota(in bodies: [[UInt8]]) -> ChannelQuota? { nil }

  public func reason(_ status: Int, _ body: [UInt8]) -> String {
    "The platform answered \(status)."
  }
}

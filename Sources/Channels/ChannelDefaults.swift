/// What a channel does not have unless its type says so: contents that the platform keeps, and a
/// quota of messages.
public import HTTPClient

extension Channel {
  /// A platform that keeps no contents.
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

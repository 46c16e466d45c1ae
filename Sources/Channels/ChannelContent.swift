/// The steps that fetch an `InboundContent`. `ChannelContents` has which ones are to be fetched,
/// `ContentLoop` fetches them.
public import HTTPClient

/// One attempt to fetch a content.
public protocol ContentFetch: Sendable {
  /// - Parameter outcome: of the last step's request; nil: there was none. That of a download has
  ///   no body.
  mutating func next(after outcome: HTTPOutcome?) -> ContentStep
}

public enum ContentStep: Sendable {
  /// A request with a short answer.
  case request(HTTPRequest)
  /// A request whose answer, if its status is 200, is the content.
  case download(HTTPRequest)
  case end(ContentEnd)
}

public enum ContentEnd: Sendable, Equatable {
  /// The last download has brought the content.
  case fetched
  /// A repetition would fail too.
  case missing(reason: String)
  /// To be tried again, in `seconds` at the earliest.
  case retry(reason: String, seconds: Int64)
}

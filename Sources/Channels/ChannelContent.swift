/// The content of a message that the platform keeps, such as a picture, and the steps that fetch
/// it. `ChannelContents` has which ones are to be fetched, `ContentLoop` fetches them.
public import HTTPClient

public struct InboundContent: Sendable, Equatable {
  /// The platform's id of the content.
  public var id: String
  /// The platform's word for it, such as `image`.
  public var kind: String
  /// The name of the file. Its end says which kind of file to expect.
  public var name: String
  /// The person has named it. The end of another name becomes that of the content's type.
  public var isNamed: Bool
  /// As the platform announces it; nil: it does not.
  public var byteCount: Int64?

  public init(id: String, kind: String, name: String, isNamed: Bool, byteCount: Int64? = nil) {
    self.id = id
    self.kind = kind
    self.name = name
    self.isNamed = isNamed
    self.byteCount = byteCount
  }
}

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

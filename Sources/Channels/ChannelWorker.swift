/// Sends messages to people on channels and fetches their profiles, on a thread of its own: waiting
/// for PostgreSQL and for platforms must not block an event loop. Another thread fetches contents.
public import Attachments
public import Directory
public import Primitives
public import Webhooks

public struct ChannelOptions: Sendable {
  public var databaseURL: String
  public var secrets: SecretBox
  /// The URL of each channel's platform, without a slash at its end.
  public var platforms: [String: String]
  /// The URL of each where it takes pictures; a channel without one has the same as above.
  public var dataPlatforms: [String: String]
  /// The storage of people's files. Nil: contents of messages are not fetched.
  public var files: AttachmentFiles?
  /// Restricts the addresses of pictures, which members choose.
  public var addressGuard: AddressGuard
  /// Where people reach the gateway, for links to files. Nil: files are not sent.
  public var publicURL: String?
  /// The time limit of one attempt.
  public var timeoutMilliseconds: Int
  /// Called when what operators see of a conversation has changed.
  public var onChange: @Sendable (_ session: Identifier, _ workspace: Identifier) -> Void
  /// Called when events of the workspace can be processed, because a content is there.
  public var onContent: @Sendable (_ workspace: Identifier) -> Void
  /// Receives log lines for the administrator, without addresses and contents.
  public var report: @Sendable (String) -> Void

  public init(
    databaseURL: String, secrets: SecretBox, platforms: [String: String],
    dataPlatforms: [String: String], publicURL: String?, files: AttachmentFiles?,
    addressGuard: AddressGuard, timeoutMilliseconds: Int,
    onChange: @escaping @Sendable (_ session: Identifier, _ workspace: Identifier) -> Void,
    onContent: @escaping @Sendable (_ workspace: Identifier) -> Void,
    report: @escaping @Sendable (String) -> Void
  ) {
    self.databaseURL = databaseURL
    self.secrets = secrets
    self.platforms = platforms
    self.dataPlatforms = dataPlatforms
    self.files = files
    self.addressGuard = addressGuard
    self.publicURL = publicURL
    self.timeoutMilliseconds = timeoutMilliseconds
    self.onChange = onChange
    self.onContent = onContent
    self.report = report
  }
}

/// The channel metrics of a node since its start, for `/metrics`.
public struct ChannelMetrics: OutboxMetrics, Equatable {
  /// Messages that platforms have accepted.
  public var sent: UInt64 = 0
  /// Failed attempts, including those that are repeated.
  public var attemptsFailed: UInt64 = 0
  /// Messages that have failed for good.
  public var failed: UInt64 = 0
  /// Conversations of the whole database in which a message waits, at the last count.
  public var waiting = 0
  /// The time since the oldest of their first attempts, in seconds, at the last count.
  public var oldestWaitingSeconds: Int64 = 0

  public init() {}
}

public typealias ChannelWorker = OutboxWorker<ChannelLoop>

/// The metrics of a node's contents since its start, for `/metrics`.
public struct ContentMetrics: OutboxMetrics, Equatable {
  public var stored: UInt64 = 0
  /// Files that the rules refuse.
  public var omitted: UInt64 = 0
  /// Contents that are gone, or could not be fetched in time.
  public var missing: UInt64 = 0
  public var attemptsFailed: UInt64 = 0
  /// Contents of the whole database that are to be fetched, at the last count.
  public var waiting = 0
  /// The time since the oldest of them came, in seconds, at the last count.
  public var oldestWaitingSeconds: Int64 = 0

  public init() {}
}

public typealias ContentWorker = OutboxWorker<ContentLoop>

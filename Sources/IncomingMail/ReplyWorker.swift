/// Reads the mailbox for replies, on a thread of its own: waiting for PostgreSQL and for the mail
/// server must not block an event loop.
public import Attachments
public import Directory
public import HTTPClient
public import Mail
public import Webhooks

public struct ReplyOptions: Sendable {
  public var databaseURL: String
  /// The folder that is read; nil: none.
  public var folder: MailFolderAddress?
  /// The folder into which messages are moved.
  public var processedFolder: String
  public var pollSeconds: Int
  /// The address that visitors answer.
  public var replies: ReplyAddress?
  /// The gateway's own address, the sender of its messages.
  public var from: MailAddress?
  /// The mail server whose `Authentication-Results` are believed.
  public var verdictServer: String?
  /// The files of replies; nil: they are left out.
  public var attachments: AttachmentFiles?
  public var secrets: SecretBox
  /// Receives log lines for the administrator, without addresses and contents.
  public var report: @Sendable (String) -> Void

  public init(
    databaseURL: String, folder: MailFolderAddress?, processedFolder: String, pollSeconds: Int,
    replies: ReplyAddress?, from: MailAddress?, verdictServer: String?,
    attachments: AttachmentFiles?, secrets: SecretBox, report: @escaping @Sendable (String) -> Void
  ) {
    self.databaseURL = databaseURL
    self.folder = folder
    self.processedFolder = processedFolder
    self.pollSeconds = pollSeconds
    self.replies = replies
    self.from = from
    self.verdictServer = verdictServer
    self.attachments = attachments
    self.secrets = secrets
    self.report = report
  }
}

/// The metrics of a node's mailbox since its start, for `/metrics`.
public struct ReplyMetrics: OutboxMetrics, Equatable {
  /// Messages that were stored, refused ones included.
  public var received: UInt64 = 0
  public var refused: [MailRefusal: UInt64] = [:]
  /// Rounds that could not read the mailbox.
  public var roundsFailed: UInt64 = 0

  public init() {}
}

public typealias ReplyWorker = OutboxWorker<ReplyLoop>

/// The configuration of the REST API, and its fixed limits.
public import Attachments
import Chat
public import Directory
public import Mail
import OpenSSL
import Primitives
import Tokens
public import Webhooks

public struct APIOptions: Sendable {
  /// The origin under which browsers reach the gateway, for example `https://chat.example.com`;
  /// nil: that of the Host header.
  public var publicURL: String?
  /// The allowed origins of workspaces that list none; `*` allows any.
  public var allowedOrigins = ["*"]
  public var visitorTokenSeconds = 15 * 60
  public var operatorTokenSeconds = 60 * 60
  /// The lifetime of a login in a browser.
  public var loginSeconds: Int64 = 7 * 86_400
  /// The lifetime of a refresh secret: how long after a visit a visitor can return to the
  /// conversation.
  public var refreshSeconds: Int64 = 90 * 86_400
  public var rates = Rates()
  /// Conversations of one visitor that are not closed.
  public var conversationsPerVisitor = Int64.max
  /// Requests with expensive statements of one workspace that run at once.
  public var expensivePerWorkspace = 1
  /// The limits that members see in the settings, in order.
  public var limits: [VisibleLimit] = []
  /// Encrypts credentials and the secrets of webhooks. The default has a random key, so the
  /// gateway must set its own.
  public var secrets = SecretBox(configured: [], signingKey: SecureRandom.bytes(32))
  /// The gateway's own address for e-mail; nil: it has no mail server.
  public var mailFrom: MailAddress?
  /// Restricts the addresses of webhooks and of identity providers.
  public var webhookGuard = AddressGuard()
  /// The URL of each channel's platform.
  public var platforms: [String: String] = [:]
  /// Receives failures of ours for the log: no errors of clients, and no contents.
  public var report: @Sendable (String) -> Void = { _ in }
  /// Receives logins, refusals, and changes of rights and keys for the log: no secrets.
  public var onSecurityEvent: @Sendable (SecurityEvent) -> Void = { _ in }
  /// The connections of this gateway; nil: there is no gateway, and so no connection.
  public var connections: (any Connections)?
  /// Reads the gateway's configuration again; nil: there is none to be read.
  public var reloader: (any Reloader)?
  /// The files of attachments; nil: there is no storage, and so no attachment.
  public var attachments: AttachmentFiles?
  /// Called when a handler begins, and when it continues after work on another thread.
  /// `API.currentRoute` is set.
  public var onResume: @Sendable () -> Void = {}

  public init() {}

  /// A limit of the gateway for this workspace.
  public struct VisibleLimit: Sendable {
    /// As in the gateway's settings.
    public var name: String
    /// Nil: no limit.
    public var amount: Int?
    /// The time in which the amount is allowed; nil: at the same time.
    public var seconds: Int?

    public init(name: String, amount: Int?, seconds: Int?) {
      self.name = name
      self.amount = amount
      self.seconds = seconds
    }
  }

  /// A rate limit per address or account: `burst` at once and `perMinute` on average; 0: no limit.
  public struct Rate: Sendable {
    public var burst: Int
    public var perMinute: Int

    public init(burst: Int, perMinute: Int) {
      self.burst = burst
      self.perMinute = perMinute
    }
  }

  public struct Rates: Sendable {
    /// Failed logins from one address.
    public var loginsByAddress = Rate(burst: 20, perMinute: 20)
    /// Failed logins to one account from one address, or from one device that has logged in before.
    public var loginsByAccount = Rate(burst: 10, perMinute: 6)
    /// Failed logins to one account from all devices that have not logged in to it before. NIST SP
    /// 800-63B §5.2.2 allows 100 in a row.
    public var loginsByStrangers = Rate(burst: 100, perMinute: 1)
    /// Tries of a wrong setup code, or of any after the setup, from one address.
    public var setupTries = Rate(burst: 10, perMinute: 6)
    /// Requests for a new password, and their links, from one address.
    public var passwordLinks = Rate(burst: 20, perMinute: 10)
    public var widgetTokens = Rate(burst: 60, perMinute: 60)
    public var widgetConfigs = Rate(burst: 240, perMinute: 240)
    /// Beacons of pages: many visitors may share an address.
    public var beacons = Rate(burst: 600, perMinute: 600)
    /// Eleven times the heartbeats of `WatchTable.beaconsPerSecond`, for navigations.
    public var beaconsOfWorkspace = Rate(burst: 30_000, perMinute: 30_000)
    /// Proactive messages that browsers of one workspace show.
    public var showings = Rate(burst: 6_000, perMinute: 6_000)
    /// Wrong signatures of webhooks of channels, from one address.
    public var signatures = Rate(burst: 120, perMinute: 120)
    /// New visitors of one workspace.
    public var newVisitors = Rate(burst: 6_000, perMinute: 6_000)
    /// Drafts of one operator, see `DraftRuns`.
    public var drafts = Rate(burst: 30, perMinute: 30)
    /// Uploads that visitors begin from one address.
    public var uploads = Rate(burst: 60, perMinute: 60)
    /// Parts of uploads of one caller: 200 MiB at once, and 3 MiB/s on average.
    public var uploadParts = Rate(burst: 3_200, perMinute: 3_200)
    /// Requests with a login, see `RequestLimits`.
    public var requestsOfMember = Rate(burst: 1_200, perMinute: 1_200)
    public var requestsOfKey = Rate(burst: 3_000, perMinute: 3_000)
    public var requestsOfVisitor = Rate(burst: 120, perMinute: 120)
    public var requestsOfWorkspace = Rate(burst: 12_000, perMinute: 12_000)

    public init() {}
  }
}

enum APILimits {
  /// Bytes of a request's body.
  static let bodyBytes = 65_536
  /// Bytes of a request's decoded path: a name of 50 characters of 4 bytes fits.
  static let pathBytes = 512
  /// Passwords that are hashed at the same time; each takes 32 MiB and a core for about 250 ms.
  static let passwordThreads = 3
  /// The same, for devices that have logged in to the account before.
  static let knownPasswordThreads = 1
  /// Passwords that wait for a thread; further requests get 429.
  static let passwordsWaiting = 12
  /// Rows of one page of conversations.
  static let conversations = 100
  static let conversationsDefault = 50
  static let messagesDefault = 50
  /// Conversations of one page of the export, unless the caller asks for another number.
  static let exportConversations = 100
  /// Bytes from which on a page of the export takes nothing further. A page also has the
  /// conversation or the page of messages (`Limits.historyBytes`) with which it reaches them.
  static let exportBytes = 1_048_576
  /// Messages of one conversation that one statement of the export reads.
  static let exportMessages = 200
  /// Bytes of a visitor's id in another system, as for signed identities.
  static let externalIDBytes = VisitorIdentity.externalIDBytesMax
  /// Rows of one page of any other list.
  static let list = 200
  static let listDefault = 100
  static let cursorBytes = 1_024
  static let searchBytes = 200
  /// Bytes of the name of a file as it is sent; `AttachmentName` shortens it.
  static let attachmentNameBytes = 1_024
  static let emailBytes = 320
  static let passwordBytes = 1_024
  static let nameBytes = 200
  static let secretBytes = 128
  /// Bytes of a one-time code or a recovery code, with separators.
  static let codeBytes = 64
  static let challengeBytes = 512
  /// Bytes of the state of a sign-in with an identity provider, in a cookie.
  static let signInCookieBytes = 4_000
  static let codeOfProviderBytes = 4_096
  static let issuerBytes = 512
  static let clientIDBytes = 255
  static let clientSecretBytes = 1_024
  static let providerLabelBytes = 60
  static let scopesBytes = 512
  static let claimNameBytes = 100
  static let groupBytes = 255
  static let groupRoles = 100
  static let passkeyNameBytes = 100
  static let modelBytes = 200
  static let endpointKeyBytes = 1_024
  static let languageBytes = 35
  /// Bytes of what a browser and an authenticator state of a passkey.
  static let clientDataBytes = 2_048
  static let authenticatorDataBytes = 4_096
  static let signatureBytes = 512
  /// Bytes of the cookie of a known device.
  static let cookieBytes = 256
  static let originBytes = 255
  /// Bytes of a key of a push subscription in base64url.
  static let pushKeyBytes = 128
  /// Bytes of the reason of a transfer or of closing.
  static let reasonBytes = 1_000
  /// Bytes of the reason of a kick, which the journal keeps.
  static let kickReasonBytes = 200
  /// Bytes of one stored text of a visitor's context; longer texts are cut.
  static let contextTextBytes = 2_048
  /// Bytes of the attributes in one request, of the name of one, and of its text.
  static let attributesBytes = 8_192
  static let attributeNameBytes = 64
  static let attributeTextBytes = 512
  /// Unicode scalars of the comment with a rating, as the widget's field and the table count them.
  static let commentCharacters = 2_000
  static let commentBytes = 4 * commentCharacters
  /// Bytes of a transcript from which on it takes no further page.
  static let transcriptBytes = 1_048_576
}

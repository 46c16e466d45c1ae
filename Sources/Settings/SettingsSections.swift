/// The sections of `Settings`, as in config/chirrup.yaml.

/// TLS listeners and their certificates.
public struct TLSSettings: Sendable, Equatable {
  /// Addresses to listen on for TLS.
  public var listen: [ListenAddress] = []
  /// Paths of certificate chains (PEM). The first one answers for names that none of them has.
  public var certificates: [String] = []
  /// Paths of their keys, in the same order. Empty: each key stands in its certificate's file.
  public var keys: [String] = []
  /// The max-age of HSTS (RFC 6797) in responses over TLS. 0: no such header.
  public var hstsSeconds = 31_536_000
  /// Whether the gateway seals the records of TLS 1.3 itself instead of OpenSSL.
  public var compactRecords = false

  public init() {}
}

/// The gateway's log, on standard error.
public struct LogSettings: Sendable, Equatable {
  public var level = LogLevel.info
  public var format = LogFormat.text
  /// Whether each HTTP request is a line.
  public var access = false

  public init() {}
}

/// Limits for all connections together and for one client. One address is one IPv4 address or one
/// IPv6 /64.
public struct LimitSettings: Sendable, Equatable {
  /// Connections open at once.
  public var connections = 50_000
  /// Sessions that one loop holds in memory.
  public var warmSessions = 100_000
  /// MiB of recent messages that all loops together hold in memory.
  public var recentMebibytes = 256
  /// Connections open at once from one address. 0: no limit.
  public var connectionsPerAddress = 1_000
  /// TLS handshakes at once, from the complete ClientHello on.
  public var handshakes = 1_000
  /// The same from one address. 0: no limit.
  public var handshakesPerAddress = 100
  /// New connections from one address, a minute and as many at once. 0: no limit.
  public var connectsPerAddress = 1_200
  /// Hellos and renewals from one address, a minute and as many at once. 0: no limit.
  public var hellosPerAddress = 1_200
  /// Tokens for visitors from one address, a minute and as many at once. 0: no limit.
  public var tokensPerAddress = 60
  /// Addresses and ranges to which no limit for one address applies.
  public var exemptAddresses = ["127.0.0.0/8", "::1"]
  /// WebSockets of one visitor. 0: no limit.
  public var connectionsPerVisitor = 32
  /// WebSockets of one workspace's visitors. 0: no limit.
  public var connectionsPerWorkspace = 0
  /// REST requests of one member, a minute and as many at once. 0: no limit.
  public var requestsPerMember = 1_200
  /// The same of one API key.
  public var requestsPerKey = 3_000
  /// The same of one visitor.
  public var requestsPerVisitor = 120
  /// The same of all members and API keys of one workspace.
  public var requestsPerWorkspace = 12_000
  /// Messages of one visitor over all connections, a minute and as many at once. 0: no limit.
  public var sendsPerVisitor = 1_200
  /// The same of all visitors of one address.
  public var sendsPerAddress = 12_000
  /// The same of all visitors of one workspace.
  public var sendsPerWorkspace = 0
  /// MiB of messages of one visitor, a day and as many at once. 0: no limit.
  public var storedMebibytesPerVisitor = 64
  /// The same of all visitors of one address.
  public var storedMebibytesPerAddress = 1_024
  /// The same of all visitors of one workspace.
  public var storedMebibytesPerWorkspace = 0
  /// Open conversations of one visitor. 0: no limit.
  public var conversationsPerVisitor = 20
  /// New visitors of one workspace, a minute and as many at once. 0: no limit.
  public var newVisitorsPerWorkspace = 6_000
  /// Connections to PostgreSQL for expensive statements of all workspaces.
  public var expensiveReaders = 4
  /// Requests with expensive statements of one workspace that run at once.
  public var expensivePerWorkspace = 1
  /// Seconds after which PostgreSQL cancels an expensive statement.
  public var expensiveSeconds = 10

  public init() {}
}

/// Seconds for which tokens are valid.
public struct TokenSettings: Sendable, Equatable {
  public var visitorSeconds = 900
  public var operatorSeconds = 3_600

  public init() {}
}

/// Deliveries to webhooks.
public struct WebhookSettings: Sendable, Equatable {
  /// Whether deliveries may go to this machine and into private networks.
  public var allowsPrivate = false
  /// Allowed ports of deliveries.
  public var ports: [ClosedRange<Int>] = [80...80, 443...443, 1_024...65_535]
  /// Seconds for one attempt.
  public var timeoutSeconds = 10
  /// Milliseconds before the second attempt; each further pause is longer.
  public var retryMilliseconds = 5_000

  public init() {}
}

/// E-mail in both directions.
public struct MailSettings: Sendable, Equatable {
  /// The mail server. Nil: no e-mail is sent.
  public var smtpURL: String?
  public var user: String?
  public var password: String?
  /// The sender in the envelope, which gets bounces, and for workspaces without a sender.
  public var from: String?
  /// Whether connections to smtp:// must turn to TLS (RFC 3207).
  public var startTLS = StartTLS.required
  /// A PEM file of certificates to trust instead of the system's.
  public var caFile: String?
  /// Seconds for one message, from the connection to the server's acceptance.
  public var timeoutSeconds = 60
  /// Milliseconds before the second attempt; each further pause is longer.
  public var retryMilliseconds = 30_000
  /// The folder to which visitors' replies come. Nil: none is read.
  public var imapURL: String?
  public var imapUser: String?
  public var imapPassword: String?
  /// The folder into which messages are moved that are stored.
  public var imapProcessed = "Processed"
  public var imapPollSeconds = 20
  /// The mailbox's address, to which visitors reply with a token in it.
  public var replyTo: String?
  /// The mail server whose `Authentication-Results` are believed (RFC 8601 §2.5); nil: none.
  public var verdictServer: String?

  public init() {}
}

/// Channels of other platforms.
public struct ChannelSettings: Sendable, Equatable {
  /// The URL of LINE's Messaging API.
  public var lineAPIURL = "https://api.line.me"
  /// The URL where LINE takes and gives pictures.
  public var lineDataURL = "https://api-data.line.me"
  /// The URL of Telegram's Bot API.
  public var telegramAPIURL = "https://api.telegram.org"

  public init() {}
}

public enum StartTLS: String, Sendable, CaseIterable {
  case required, optional, off
}

/// What the gateway removes by itself, and when.
public struct MaintenanceSettings: Sendable, Equatable {
  /// The time of the day for it. Nil: at any time.
  public var window: MaintenanceWindow?
  /// Days after which closed conversations are removed. 0: never.
  public var conversationDays = 0
  /// Days after which entries of the audit log are removed. 0: never.
  public var auditDays = 0

  public init() {}
}

/// permessage-deflate (RFC 7692), for clients that offer it.
public struct CompressionSettings: Sendable, Equatable {
  public var isEnabled = true
  /// Whether messages may refer to earlier ones; every connection then keeps zlib's state.
  public var keepsContext = false
  /// With `keepsContext`: the window of either direction as a power of two, in bytes.
  public var windowBits = 12
  /// zlib's memLevel, 1 to 9.
  public var memoryLevel = 5
  /// zlib's level: 1 is the fastest, 9 compresses best.
  public var level = 1
  /// Bytes below which a text is not compressed.
  public var thresholdBytes = 512

  public init() {}
}

/// The levels of swift-log, under the same names.
public enum LogLevel: String, Sendable, CaseIterable {
  case trace, debug, info, notice, warning, error, critical
}

public enum LogFormat: String, Sendable, CaseIterable {
  case text, json
}

/// The settings of a gateway as one value: read at the start and at each reload, checked as a
/// whole, and passed on.
///
/// Sections and keys are those of config/chirrup.yaml, which documents each of them; a test
/// compares its values with the defaults here.
public struct Settings: Sendable, Equatable {
  /// Addresses to listen on, with one listener for each address and loop.
  public var listen = [ListenAddress(host: "127.0.0.1", port: 8080)]
  /// Addresses for metrics and probes only.
  public var adminListen = Settings.usualAdminListen
  /// Whether `listen` and `tls.listen` serve the metrics too.
  public var adminIsPublic = false
  /// Whether another gateway of the same user may listen on the same addresses.
  public var listenShared = false
  public var tls = TLSSettings()
  /// The URL under which browsers reach the gateway, without a trailing slash. Nil: the first
  /// listen address.
  public var publicURL: String?
  /// A PostgreSQL connection string or URI. Nil: a private cluster in `dataDirectory`.
  public var databaseURL: String?
  /// The same database without its pooler, for migrations and the other commands. Nil:
  /// `databaseURL`.
  public var databaseDirectURL: String?
  /// The same database as the owner of its tables, for migrations, if the gateway's own user owns
  /// nothing. Nil: `databaseDirectURL`.
  public var migrationsURL: String?
  /// The user that the gateway becomes if it is started as root. Nil: it stays root.
  public var user: String?
  /// The directory of the private cluster and of the demo's password.
  public var dataDirectory = "./var"
  /// Event loops, one thread each. 0: one for each core.
  public var loops = 0
  public var log = LogSettings()
  public var limits = LimitSettings()
  /// Addresses and ranges whose X-Forwarded-For, X-Forwarded-Proto and PROXY headers are trusted.
  public var trustedProxies: [String] = []
  /// Whether connections of trusted proxies begin with a PROXY header, version 2.
  public var proxyProtocol = false
  /// The header field in which trusted proxies send the visitor's country, as two letters (ISO
  /// 3166-1). Nil: the country is guessed from Accept-Language.
  public var countryHeader: String?
  /// Host names under which browsers may reach the gateway, besides that of `publicURL`. `*` is
  /// any.
  public var allowedHosts: [String] = []
  public var tokens = TokenSettings()
  /// Texts from which the keys that encrypt secrets in the database are derived, the newest first.
  /// Empty: a key derived from the one that signs tokens.
  public var credentialsKeys: [String] = []
  public var webhooks = WebhookSettings()
  public var attachments = AttachmentSettings()
  public var mail = MailSettings()
  public var channels = ChannelSettings()
  public var maintenance = MaintenanceSettings()
  public var compression = CompressionSettings()
  /// Origins that may open a connection, for a workspace without a list of its own. `*` is any.
  public var allowedOrigins = ["*"]
  /// Whether a WebSocket without an Origin header is refused. Browsers always send one.
  public var requireOrigin = false
  /// Seconds in which a stopping gateway lets its clients reconnect elsewhere.
  public var drainSeconds = 10
  /// Whether `serve` applies pending migrations; otherwise it refuses to start while there are any.
  public var migrate = true
  /// Whether there is a WebSocket echo at /debug/echo.
  public var debugEcho = false
  /// Whether there is a workspace `demo` with an operator whose login the console's page shows.
  public var demo = false
  /// Whether a new demo workspace gets conversations, canned replies, rules and a menu.
  public var demoContent = true

  public static let usualAdminListen = [ListenAddress(host: "127.0.0.1", port: 9180)]

  public init() {}
}

/// An IPv4 or IPv6 address literal and a port; port 0 is any free one.
public struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
  public var host: String
  public var port: UInt16

  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Whether only this machine can reach it.
  public var isLoopback: Bool { host == "::1" || host.utf8.starts(with: "127.".utf8) }

  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

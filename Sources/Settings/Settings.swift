/// The settings of a gateway as one immutable value: read once at the start, checked as a whole,
/// and passed on.
///
/// Sections and keys are those of config/chirrup.yaml, which documents each of them; a test
/// compares its values with the defaults here.
public struct Settings: Sendable, Equatable {
  /// Addresses to listen on, with one listener for each address and loop.
  public var listen = [ListenAddress(host: "127.0.0.1", port: 8080)]
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
  /// Host names under which browsers may reach the gateway, besides that of `publicURL`. `*` is
  /// any.
  public var allowedHosts: [String] = []
  public var tokens = TokenSettings()
  /// Texts from which the keys that encrypt secrets in the database are derived, the newest first.
  /// Empty: a key derived from the one that signs tokens.
  public var credentialsKeys: [String] = []
  public var webhooks = WebhookSettings()
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

  public init() {}
}

/// TLS listeners and their certificates.
public struct TLSSettings: Sendable, Equatable {
  /// Addresses to listen on for TLS.
  public var listen: [ListenAddress] = []
  /// Paths of certificate chains (PEM). The first one answers for names that none of them has.
  public var certificates: [String] = []
  /// Paths of their keys, in the same order. Empty: each key stands in its certificate's file.
  public var keys: [String] = []
  /// Whether the gateway seals the records of TLS 1.3 itself instead of OpenSSL.
  public var compactRecords = false

  public init() {}
}

/// The gateway's log, on standard error.
public struct LogSettings: Sendable, Equatable {
  public var level = LogLevel.info
  public var format = LogFormat.text

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

/// The levels of swift-log, under the same names.
public enum LogLevel: String, Sendable, CaseIterable {
  case trace, debug, info, notice, warning, error, critical
}

public enum LogFormat: String, Sendable, CaseIterable {
  case text, json
}

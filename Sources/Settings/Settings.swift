/// Everything that can be set, as one immutable value: read once at start, checked as a whole, then
/// only passed on.
///
/// config/chirrup.yaml documents each key; a test holds it equal to the defaults here.
public struct Settings: Sendable, Equatable {
  /// Where the gateway listens; one listener for each address and loop.
  public var listen = [ListenAddress(host: "127.0.0.1", port: 8080)]
  /// Whether another gateway of this user may listen there already.
  public var listenShared = false
  /// Where it listens for TLS.
  public var tlsListen: [ListenAddress] = []
  /// Certificate chains, PEM. The first answers for names that none of them has.
  public var tlsCertificates: [String] = []
  /// Their keys, in the same order. Empty: each key stands in its certificate's file.
  public var tlsKeys: [String] = []
  /// Whether the gateway seals the records of TLS 1.3 itself instead of OpenSSL.
  public var tlsCompactRecords = false
  /// The URL under which browsers reach the gateway, without a trailing slash. Nil: the first
  /// listen address.
  public var publicURL: String?
  /// A PostgreSQL connection string or URI. Nil: a private cluster in `dataDirectory`.
  public var databaseURL: String?
  /// The same database past its pooler, for migrations and the other commands. Nil: `databaseURL`.
  public var databaseDirectURL: String?
  /// Where the private cluster and the demo's password live.
  public var dataDirectory = "./var"
  /// Event loops, one thread each. 0: one for each core.
  public var loops = 0
  public var logLevel = LogLevel.info
  public var logFormat = LogFormat.text
  /// Connections open at once.
  public var connectionsMax = 50_000
  /// Sessions that one loop holds in memory.
  public var warmSessionsMax = 100_000
  /// MiB of recent messages that all loops hold in memory; what is not there is read from the
  /// database.
  public var recentMebibytesMax = 256
  /// Connections open at once from one address (IPv6: from one /64). 0: no limit but
  /// `connectionsMax`.
  public var connectionsPerAddressMax = 1_000
  /// TLS handshakes under way in all, and from one address (0: no limit): from the whole
  /// ClientHello to the end of the handshake.
  public var handshakesMax = 1_000
  public var handshakesPerAddressMax = 100
  /// WebSockets of one visitor and of one workspace. 0: no limit.
  public var connectionsPerVisitorMax = 32
  public var connectionsPerWorkspaceMax = 0
  /// New connections, hellos, and tokens for visitors, a minute from one address and as many at
  /// once. 0: no limit.
  public var connectsPerAddress = 1_200
  public var hellosPerAddress = 1_200
  public var tokensPerAddress = 60
  /// Addresses and ranges that the limits for one address do not concern.
  public var exemptAddresses = ["127.0.0.0/8", "::1"]
  /// Addresses and ranges whose X-Forwarded-For, X-Forwarded-Proto and PROXY headers count.
  public var trustedProxies: [String] = []
  /// Whether connections of trusted proxies begin with a PROXY header, version 2.
  public var proxyProtocol = false
  /// Names under which browsers may reach the gateway, besides that of `publicURL`. `*` is any.
  public var allowedHosts: [String] = []
  /// Seconds for which a visitor's token is valid.
  public var visitorTokenSeconds = 900
  /// Seconds for which an operator's token is valid.
  public var operatorTokenSeconds = 3_600
  /// What encrypts secrets of other services in the database, the newest first. Empty: a key
  /// derived from the one that signs tokens.
  public var credentialsKeys: [String] = []
  public var webhooks = WebhookSettings()
  public var compression = CompressionSettings()
  /// Origins that may open a connection, for a workspace that lists none of its own. `*` is any.
  public var allowedOrigins = ["*"]
  /// Whether a WebSocket without an Origin, so not of a browser, is refused.
  public var requireOrigin = false
  /// Seconds that a stopping gateway gives its clients to go.
  public var drainSeconds = 10
  /// Whether serve applies pending migrations; otherwise it refuses to start on an old schema.
  public var migrate = true
  /// Whether the WebSocket echo at /debug/echo exists.
  public var debugEcho = false
  /// Whether the workspace `demo` exists, with its operator, and its login is shown on the
  /// console's page.
  public var demo = false

  public init() {}
}

/// Deliveries to webhooks.
public struct WebhookSettings: Sendable, Equatable {
  /// Whether they may go to this machine and into private networks.
  public var allowsPrivate = false
  /// Ports they may go to.
  public var ports: [ClosedRange<Int>] = [80...80, 443...443, 1_024...65_535]
  /// Seconds for one attempt.
  public var timeoutSeconds = 10
  /// Milliseconds before the second attempt; the others follow at growing distances.
  public var retryMilliseconds = 5_000

  public init() {}
}

/// permessage-deflate (RFC 7692), for clients that offer it.
public struct CompressionSettings: Sendable, Equatable {
  public var isEnabled = true
  /// Whether messages may refer to earlier ones, for which every connection keeps zlib's state.
  public var keepsContext = false
  /// The window of either direction where context is kept, as a power of two.
  public var windowBits = 12
  /// zlib's memLevel.
  public var memoryLevel = 5
  /// zlib's level: 1 is fast, 9 is small.
  public var level = 1
  /// Shorter texts are not compressed.
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

/// The levels of swift-log, by the same names.
public enum LogLevel: String, Sendable, CaseIterable {
  case trace, debug, info, notice, warning, error, critical
}

public enum LogFormat: String, Sendable, CaseIterable {
  case text, json
}

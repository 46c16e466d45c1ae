/// Everything that can be set, as one immutable value: read once at start, checked as a whole, then
/// only passed on.
///
/// config/chirrup.yaml documents each key; a test holds it equal to the defaults here.
public struct Settings: Sendable, Equatable {
  /// Where the gateway listens; one listener for each address and loop.
  public var listen = [ListenAddress(host: "127.0.0.1", port: 8080)]
  /// The URL under which browsers reach the gateway, without a trailing slash. Nil: the first
  /// listen address.
  public var publicURL: String?
  /// A PostgreSQL connection string or URI. Nil: a private cluster in `dataDirectory`.
  public var databaseURL: String?
  /// Where the private cluster and the demo's password live.
  public var dataDirectory = "./var"
  /// Event loops, one thread each. 0: one for each core.
  public var loops = 0
  public var logLevel = LogLevel.info
  public var logFormat = LogFormat.text
  /// Connections open at once.
  public var connectionsMax = 50_000
  /// Connections open at once from one address. 0: no limit but `connectionsMax`.
  public var connectionsPerAddressMax = 0
  /// Seconds for which a visitor's token is valid.
  public var visitorTokenSeconds = 900
  /// Seconds for which an operator's token is valid.
  public var operatorTokenSeconds = 3_600
  /// Origins that may open a connection, for a workspace that lists none of its own. `*` is any.
  public var allowedOrigins = ["*"]
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

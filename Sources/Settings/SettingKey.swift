/// The names of all settings. The raw value is the path in the YAML file, from which the names of
/// the environment variable (`limits.connections` is CHIRRUP_LIMITS_CONNECTIONS) and of the
/// command-line flag are derived.
public enum SettingKey: String, CaseIterable, Sendable {
  case listen
  case adminListen = "admin_listen"
  case listenShared = "listen_shared"
  case tlsListen = "tls.listen"
  case tlsCertificates = "tls.certificates"
  case tlsKeys = "tls.keys"
  case tlsCompactRecords = "tls.compact_records"
  case tlsHSTSSeconds = "tls.hsts_seconds"
  case publicURL = "public_url"
  case databaseURL = "database_url"
  case databaseDirectURL = "database_direct_url"
  case migrationsURL = "migrations_url"
  case user
  case dataDirectory = "data_dir"
  case loops
  case logLevel = "log.level"
  case logFormat = "log.format"
  case logAccess = "log.access"
  case connections = "limits.connections"
  case warmSessions = "limits.warm_sessions"
  case recentMebibytes = "limits.recent_mebibytes"
  case connectionsPerAddress = "limits.connections_per_address"
  case connectionsPerVisitor = "limits.connections_per_visitor"
  case connectionsPerWorkspace = "limits.connections_per_workspace"
  case handshakes = "limits.handshakes"
  case handshakesPerAddress = "limits.handshakes_per_address"
  case connectsPerAddress = "limits.connects_per_address"
  case hellosPerAddress = "limits.hellos_per_address"
  case tokensPerAddress = "limits.tokens_per_address"
  case requestsPerMember = "limits.requests_per_member"
  case requestsPerKey = "limits.requests_per_key"
  case requestsPerVisitor = "limits.requests_per_visitor"
  case requestsPerWorkspace = "limits.requests_per_workspace"
  case sendsPerVisitor = "limits.sends_per_visitor"
  case sendsPerAddress = "limits.sends_per_address"
  case sendsPerWorkspace = "limits.sends_per_workspace"
  case storedMebibytesPerVisitor = "limits.stored_mebibytes_per_visitor"
  case storedMebibytesPerAddress = "limits.stored_mebibytes_per_address"
  case storedMebibytesPerWorkspace = "limits.stored_mebibytes_per_workspace"
  case conversationsPerVisitor = "limits.conversations_per_visitor"
  case newVisitorsPerWorkspace = "limits.new_visitors_per_workspace"
  case expensiveReaders = "limits.expensive_readers"
  case expensivePerWorkspace = "limits.expensive_per_workspace"
  case expensiveSeconds = "limits.expensive_seconds"
  case exemptAddresses = "limits.exempt_addresses"
  case trustedProxies = "trusted_proxies"
  case proxyProtocol = "proxy_protocol"
  case countryHeader = "country_header"
  case allowedHosts = "allowed_hosts"
  case visitorTokenSeconds = "tokens.visitor_seconds"
  case operatorTokenSeconds = "tokens.operator_seconds"
  case credentialsKey = "credentials_key"
  case webhooksAllowPrivate = "webhooks.allow_private"
  case webhooksPorts = "webhooks.ports"
  case webhooksTimeoutSeconds = "webhooks.timeout_seconds"
  case webhooksRetryMilliseconds = "webhooks.retry_milliseconds"
  case attachmentsStorage = "attachments.storage"
  case attachmentsFolder = "attachments.folder"
  case attachmentsS3Endpoint = "attachments.s3.endpoint"
  case attachmentsS3Region = "attachments.s3.region"
  case attachmentsS3Bucket = "attachments.s3.bucket"
  case attachmentsS3AccessKey = "attachments.s3.access_key"
  case attachmentsS3SecretKey = "attachments.s3.secret_key"
  case attachmentsS3PathStyle = "attachments.s3.path_style"
  case attachmentsS3Authority = "attachments.s3.authority"
  case attachmentsScanner = "attachments.scanner"
  case attachmentsScannerRequired = "attachments.scanner_required"
  case attachmentsScannerSeconds = "attachments.scanner_seconds"
  case attachmentsCleanImages = "attachments.clean_images"
  case mailSMTPURL = "mail.smtp_url"
  case mailUser = "mail.user"
  case mailPassword = "mail.password"
  case mailFrom = "mail.from"
  case mailSTARTTLS = "mail.starttls"
  case mailCAFile = "mail.ca_file"
  case mailTimeoutSeconds = "mail.timeout_seconds"
  case mailRetryMilliseconds = "mail.retry_milliseconds"
  case mailIMAPURL = "mail.imap_url"
  case mailIMAPUser = "mail.imap_user"
  case mailIMAPPassword = "mail.imap_password"
  case mailIMAPProcessed = "mail.imap_processed"
  case mailIMAPPollSeconds = "mail.imap_poll_seconds"
  case mailReplyTo = "mail.reply_to"
  case mailVerdictServer = "mail.authserv_id"
  case channelsLineAPIURL = "channels.line_api_url"
  case channelsLineDataURL = "channels.line_data_url"
  case channelsTelegramAPIURL = "channels.telegram_api_url"
  case maintenanceWindow = "maintenance.window"
  case maintenanceConversationDays = "maintenance.conversation_days"
  case maintenanceAuditDays = "maintenance.audit_days"
  case compressionEnabled = "compression.enabled"
  case compressionContextTakeover = "compression.context_takeover"
  case compressionWindowBits = "compression.window_bits"
  case compressionMemoryLevel = "compression.memory_level"
  case compressionLevel = "compression.level"
  case compressionThresholdBytes = "compression.threshold_bytes"
  case allowedOrigins = "allowed_origins"
  case requireOrigin = "require_origin"
  case drainSeconds = "drain_seconds"
  case migrate
  case debugEcho = "debug_echo"
  case demo
  case demoContent = "demo_content"

  var components: [String] { rawValue.split(separator: ".").map(String.init) }

  var environmentName: String {
    "CHIRRUP_" + String(rawValue.uppercased().map { $0 == "." ? "_" : $0 })
  }

  var flagName: String { "--" + String(rawValue.map { $0 == "_" || $0 == "." ? "-" : $0 }) }

  /// Whether error messages must not quote the value, since it may contain a password.
  var isSecret: Bool {
    switch self {
    case .databaseURL, .databaseDirectURL, .migrationsURL, .credentialsKey, .mailPassword,
      .mailIMAPPassword, .attachmentsS3AccessKey, .attachmentsS3SecretKey:
      true
    default: false
    }
  }

  /// The variable with the path of a file that contains the value, for secrets.
  var fileVariableName: String { environmentName + "_FILE" }

  /// The accepted range; nil for settings that are no numbers.
  var range: ClosedRange<Int>? {
    switch self {
    case .loops: 0...64
    case .connections, .handshakes: 1...1_000_000
    case .warmSessions: 256...1_000_000
    case .recentMebibytes: 1...65_536
    case .connectionsPerAddress, .connectionsPerVisitor, .connectionsPerWorkspace,
      .handshakesPerAddress, .connectsPerAddress, .hellosPerAddress, .tokensPerAddress,
      .requestsPerMember, .requestsPerKey, .requestsPerVisitor, .requestsPerWorkspace,
      .sendsPerVisitor, .sendsPerAddress, .sendsPerWorkspace, .storedMebibytesPerVisitor,
      .storedMebibytesPerAddress, .storedMebibytesPerWorkspace, .conversationsPerVisitor,
      .newVisitorsPerWorkspace:
      0...1_000_000
    case .expensiveReaders, .expensivePerWorkspace: 1...64
    case .expensiveSeconds: 1...300
    case .tlsHSTSSeconds: 0...63_072_000
    case .visitorTokenSeconds, .operatorTokenSeconds: 60...86_400
    case .compressionWindowBits: 9...15
    case .compressionMemoryLevel, .compressionLevel: 1...9
    case .compressionThresholdBytes: 0...65_536
    case .webhooksTimeoutSeconds: 1...60
    case .webhooksRetryMilliseconds, .mailRetryMilliseconds: 100...600_000
    case .mailTimeoutSeconds: 1...600
    case .mailIMAPPollSeconds: 1...3_600
    case .attachmentsScannerSeconds: 1...300
    case .drainSeconds: 0...300
    case .maintenanceConversationDays, .maintenanceAuditDays: 0...36_500
    default: nil
    }
  }

  /// A description of the accepted values, for error messages.
  var accepted: String {
    if let range { return "a whole number from \(range.lowerBound) to \(range.upperBound)" }
    return switch self {
    case .listen, .tlsListen:
      "none, or up to 16 different addresses such as 127.0.0.1:8080, [::1]:8080, localhost:8080"
    case .adminListen: "none, listen, or up to 16 different addresses such as 127.0.0.1:9180"
    case .user: "the name of a user of this system, not root"
    case .tlsCertificates:
      "up to 64 paths of PEM files, each a chain that begins with the server's certificate"
    case .tlsKeys:
      "one path of a PEM file for each certificate, in the same order, or none if each key is in "
        + "its certificate's file"
    case .channelsLineAPIURL, .channelsLineDataURL, .channelsTelegramAPIURL:
      "a URL such as https://api.line.me, without query and fragment"
    case .publicURL: "a URL such as https://chat.example.com, without query and fragment"
    case .databaseURL, .databaseDirectURL, .migrationsURL:
      "postgresql://user:password@host:5432/name or host=… dbname=…"
    case .dataDirectory, .attachmentsFolder: "the path of a directory"
    case .attachmentsStorage: "disk, or s3 with attachments.s3"
    case .attachmentsS3Endpoint:
      "http or https, a host and an optional port, such as https://s3.eu-central-1.amazonaws.com"
    case .attachmentsS3Region: "the name of a region, such as eu-central-1"
    case .attachmentsS3Bucket: "the name of a bucket: 3 to 63 lower-case letters, digits, . and -"
    case .attachmentsS3AccessKey, .attachmentsS3SecretKey:
      "1 to 256 printable characters without spaces"
    case .attachmentsS3Authority: "the path of a PEM file of certificates"
    case .attachmentsScanner: "unix:/run/clamav/clamd.ctl or tcp:host:port"
    case .logLevel: LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
    case .logFormat: LogFormat.allCases.map(\.rawValue).joined(separator: ", ")
    case .allowedOrigins:
      "* or up to 64 origins such as https://example.com or http://localhost:3000"
    case .trustedProxies, .exemptAddresses:
      "none, or up to 64 addresses or ranges such as 10.0.0.0/8 or 2001:db8::/32"
    case .countryHeader: "the name of a header field, such as CF-IPCountry"
    case .credentialsKey: "up to 8 random texts of 32 to 256 characters, the newest first"
    case .maintenanceWindow:
      "two different times and the name of a time zone, such as 02:00-05:00 Europe/Berlin or "
        + "22:30-04:00 (UTC); empty: at any time"
    case .mailSMTPURL:
      "smtp://host:587 or smtps://host:465, without user and password; empty: no e-mail is sent"
    case .mailUser, .mailPassword, .mailIMAPUser, .mailIMAPPassword:
      "up to 256 characters, no control characters"
    case .mailFrom: "an e-mail address such as chat@example.com"
    case .mailSTARTTLS: StartTLS.allCases.map(\.rawValue).joined(separator: ", ")
    case .mailCAFile: "the path of a PEM file"
    case .mailIMAPURL:
      "imaps://host/INBOX or imap://host/INBOX, without user and password; empty: no reply comes "
        + "back"
    case .mailIMAPProcessed: "the name of a folder: up to 100 letters, digits and . / - _"
    case .mailReplyTo:
      "an e-mail address such as chat@example.com, with up to 19 characters before the @"
    case .mailVerdictServer: "the name of a mail server in its Authentication-Results"
    case .webhooksPorts: "up to 16 ports or ranges such as 443 or 8000-8999"
    case .allowedHosts: "* or up to 64 host names such as chat.internal, without scheme and port"
    default: "true or false"
    }
  }
}

/// Which settings a running gateway takes over when it reads its configuration again.
extension SettingKey {
  /// Whether a running gateway changes the setting; otherwise it waits for a restart. Exhaustive on
  /// purpose: a new setting needs a decision.
  var isReloadable: Bool {
    switch self {
    // Read again for new connections.
    case .tlsCertificates, .tlsKeys, .tlsHSTSSeconds, .trustedProxies, .proxyProtocol,
      .countryHeader, .allowedHosts, .allowedOrigins, .requireOrigin:
      true
    // Each connection to the database is replaced when it is idle.
    case .databaseURL: true
    case .logLevel, .logAccess, .drainSeconds: true
    case .connections, .connectionsPerAddress, .connectionsPerVisitor, .connectionsPerWorkspace,
      .handshakes, .handshakesPerAddress, .connectsPerAddress, .hellosPerAddress,
      .tokensPerAddress, .requestsPerMember, .requestsPerKey, .requestsPerVisitor,
      .requestsPerWorkspace, .sendsPerVisitor, .sendsPerAddress, .sendsPerWorkspace,
      .storedMebibytesPerVisitor, .storedMebibytesPerAddress, .storedMebibytesPerWorkspace,
      .conversationsPerVisitor, .newVisitorsPerWorkspace, .expensivePerWorkspace,
      .expensiveSeconds, .exemptAddresses:
      true
    case .visitorTokenSeconds, .operatorTokenSeconds: true
    case .webhooksTimeoutSeconds, .webhooksRetryMilliseconds: true
    case .maintenanceWindow, .maintenanceConversationDays, .maintenanceAuditDays: true
    // The sockets and the identity of the process.
    case .listen, .adminListen, .listenShared, .tlsListen, .user, .dataDirectory, .loops: false
    // Uploads are under way in it.
    case .attachmentsStorage, .attachmentsFolder, .attachmentsS3Endpoint, .attachmentsS3Region,
      .attachmentsS3Bucket, .attachmentsS3AccessKey, .attachmentsS3SecretKey,
      .attachmentsS3PathStyle, .attachmentsS3Authority, .attachmentsScanner,
      .attachmentsScannerRequired, .attachmentsScannerSeconds, .attachmentsCleanImages:
      false
    // The self-test of compact records runs at the start; the pages contain the URL.
    case .tlsCompactRecords, .publicURL, .demo, .demoContent, .debugEcho: false
    // Used at the start only.
    case .databaseDirectURL, .migrationsURL, .migrate: false
    // The lines of one log have one format.
    case .logFormat: false
    // The size of memory and of connections that are allocated at the start.
    case .warmSessions, .recentMebibytes, .expensiveReaders: false
    // Stored secrets are encrypted with the keys of the start.
    case .credentialsKey: false
    // The mail server, its connection, and whether there is mail at all.
    case .mailSMTPURL, .mailUser, .mailPassword, .mailFrom, .mailSTARTTLS, .mailCAFile,
      .mailTimeoutSeconds, .mailRetryMilliseconds, .mailIMAPURL, .mailIMAPUser, .mailIMAPPassword,
      .mailIMAPProcessed, .mailIMAPPollSeconds, .mailReplyTo, .mailVerdictServer:
      false
    // Requests under way go to the address of the start.
    case .channelsLineAPIURL, .channelsLineDataURL, .channelsTelegramAPIURL: false
    // The guard of deliveries under way, and the state of open connections.
    case .webhooksAllowPrivate, .webhooksPorts, .compressionEnabled, .compressionContextTakeover,
      .compressionWindowBits, .compressionMemoryLevel, .compressionLevel,
      .compressionThresholdBytes:
      false
    }
  }
}

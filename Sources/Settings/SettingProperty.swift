/// The place of each setting in `Settings`, so that two values can be compared and one be taken
/// over.

struct SettingProperty {
  /// The value as in the YAML file.
  let text: (Settings) -> String
  let copy: (_ new: Settings, _ old: inout Settings) -> Void

  init(_ path: WritableKeyPath<Settings, some SettingValue>) {
    text = { $0[keyPath: path].settingText }
    copy = { new, old in old[keyPath: path] = new[keyPath: path] }
  }

  /// `listen` means the addresses of another setting.
  static var adminListen: SettingProperty {
    SettingProperty(
      text: { $0.adminIsPublic ? "listen" : $0.adminListen.settingText },
      copy: { new, old in
        old.adminIsPublic = new.adminIsPublic
        old.adminListen = new.adminListen
      })
  }

  private init(
    text: @escaping (Settings) -> String, copy: @escaping (Settings, inout Settings) -> Void
  ) {
    self.text = text
    self.copy = copy
  }
}

extension SettingKey {
  var property: SettingProperty {
    switch self {
    case .listen: SettingProperty(\.listen)
    case .adminListen: .adminListen
    case .listenShared: SettingProperty(\.listenShared)
    case .tlsListen: SettingProperty(\.tls.listen)
    case .tlsCertificates: SettingProperty(\.tls.certificates)
    case .tlsKeys: SettingProperty(\.tls.keys)
    case .tlsCompactRecords: SettingProperty(\.tls.compactRecords)
    case .tlsHSTSSeconds: SettingProperty(\.tls.hstsSeconds)
    case .publicURL: SettingProperty(\.publicURL)
    case .databaseURL: SettingProperty(\.databaseURL)
    case .databaseDirectURL: SettingProperty(\.databaseDirectURL)
    case .migrationsURL: SettingProperty(\.migrationsURL)
    case .user: SettingProperty(\.user)
    case .dataDirectory: SettingProperty(\.dataDirectory)
    case .loops: SettingProperty(\.loops)
    case .logLevel: SettingProperty(\.log.level)
    case .logFormat: SettingProperty(\.log.format)
    case .logAccess: SettingProperty(\.log.access)
    case .trustedProxies: SettingProperty(\.trustedProxies)
    case .proxyProtocol: SettingProperty(\.proxyProtocol)
    case .countryHeader: SettingProperty(\.countryHeader)
    case .allowedHosts: SettingProperty(\.allowedHosts)
    case .visitorTokenSeconds: SettingProperty(\.tokens.visitorSeconds)
    case .operatorTokenSeconds: SettingProperty(\.tokens.operatorSeconds)
    case .credentialsKey: SettingProperty(\.credentialsKeys)
    case .webhooksAllowPrivate: SettingProperty(\.webhooks.allowsPrivate)
    case .webhooksPorts: SettingProperty(\.webhooks.ports)
    case .webhooksTimeoutSeconds: SettingProperty(\.webhooks.timeoutSeconds)
    case .webhooksRetryMilliseconds: SettingProperty(\.webhooks.retryMilliseconds)
    case .attachmentsStorage: SettingProperty(\.attachments.storage)
    case .attachmentsFolder: SettingProperty(\.attachments.folder)
    case .attachmentsS3Endpoint: SettingProperty(\.attachments.s3.endpoint)
    case .attachmentsS3Region: SettingProperty(\.attachments.s3.region)
    case .attachmentsS3Bucket: SettingProperty(\.attachments.s3.bucket)
    case .attachmentsS3AccessKey: SettingProperty(\.attachments.s3.accessKey)
    case .attachmentsS3SecretKey: SettingProperty(\.attachments.s3.secretKey)
    case .attachmentsS3PathStyle: SettingProperty(\.attachments.s3.isPathStyle)
    case .attachmentsS3Authority: SettingProperty(\.attachments.s3.authority)
    case .attachmentsScanner: SettingProperty(\.attachments.scanner)
    case .attachmentsScannerRequired: SettingProperty(\.attachments.scannerIsRequired)
    case .attachmentsScannerSeconds: SettingProperty(\.attachments.scannerSeconds)
    case .attachmentsCleanImages: SettingProperty(\.attachments.cleansImages)
    case .mailSMTPURL: SettingProperty(\.mail.smtpURL)
    case .mailUser: SettingProperty(\.mail.user)
    case .mailPassword: SettingProperty(\.mail.password)
    case .mailFrom: SettingProperty(\.mail.from)
    case .mailSTARTTLS: SettingProperty(\.mail.startTLS)
    case .mailCAFile: SettingProperty(\.mail.caFile)
    case .mailTimeoutSeconds: SettingProperty(\.mail.timeoutSeconds)
    case .mailRetryMilliseconds: SettingProperty(\.mail.retryMilliseconds)
    case .mailIMAPURL: SettingProperty(\.mail.imapURL)
    case .mailIMAPUser: SettingProperty(\.mail.imapUser)
    case .mailIMAPPassword: SettingProperty(\.mail.imapPassword)
    case .mailIMAPProcessed: SettingProperty(\.mail.imapProcessed)
    case .mailIMAPPollSeconds: SettingProperty(\.mail.imapPollSeconds)
    case .mailReplyTo: SettingProperty(\.mail.replyTo)
    case .mailVerdictServer: SettingProperty(\.mail.verdictServer)
    case .channelsLineAPIURL: SettingProperty(\.channels.lineAPIURL)
    case .channelsLineDataURL: SettingProperty(\.channels.lineDataURL)
    case .channelsTelegramAPIURL: SettingProperty(\.channels.telegramAPIURL)
    case .maintenanceWindow: SettingProperty(\.maintenance.window)
    case .maintenanceConversationDays: SettingProperty(\.maintenance.conversationDays)
    case .maintenanceAuditDays: SettingProperty(\.maintenance.auditDays)
    case .compressionEnabled: SettingProperty(\.compression.isEnabled)
    case .compressionContextTakeover: SettingProperty(\.compression.keepsContext)
    case .compressionWindowBits: SettingProperty(\.compression.windowBits)
    case .compressionMemoryLevel: SettingProperty(\.compression.memoryLevel)
    case .compressionLevel: SettingProperty(\.compression.level)
    case .compressionThresholdBytes: SettingProperty(\.compression.thresholdBytes)
    case .allowedOrigins: SettingProperty(\.allowedOrigins)
    case .requireOrigin: SettingProperty(\.requireOrigin)
    case .drainSeconds: SettingProperty(\.drainSeconds)
    case .migrate: SettingProperty(\.migrate)
    case .debugEcho: SettingProperty(\.debugEcho)
    case .demo: SettingProperty(\.demo)
    case .demoContent: SettingProperty(\.demoContent)
    case .connections: SettingProperty(\.limits.connections)
    case .warmSessions: SettingProperty(\.limits.warmSessions)
    case .recentMebibytes: SettingProperty(\.limits.recentMebibytes)
    case .connectionsPerAddress: SettingProperty(\.limits.connectionsPerAddress)
    case .connectionsPerVisitor: SettingProperty(\.limits.connectionsPerVisitor)
    case .connectionsPerWorkspace: SettingProperty(\.limits.connectionsPerWorkspace)
    case .handshakes: SettingProperty(\.limits.handshakes)
    case .handshakesPerAddress: SettingProperty(\.limits.handshakesPerAddress)
    case .connectsPerAddress: SettingProperty(\.limits.connectsPerAddress)
    case .hellosPerAddress: SettingProperty(\.limits.hellosPerAddress)
    case .tokensPerAddress: SettingProperty(\.limits.tokensPerAddress)
    case .requestsPerMember: SettingProperty(\.limits.requestsPerMember)
    case .requestsPerKey: SettingProperty(\.limits.requestsPerKey)
    case .requestsPerVisitor: SettingProperty(\.limits.requestsPerVisitor)
    case .requestsPerWorkspace: SettingProperty(\.limits.requestsPerWorkspace)
    case .sendsPerVisitor: SettingProperty(\.limits.sendsPerVisitor)
    case .sendsPerAddress: SettingProperty(\.limits.sendsPerAddress)
    case .sendsPerWorkspace: SettingProperty(\.limits.sendsPerWorkspace)
    case .storedMebibytesPerVisitor: SettingProperty(\.limits.storedMebibytesPerVisitor)
    case .storedMebibytesPerAddress: SettingProperty(\.limits.storedMebibytesPerAddress)
    case .storedMebibytesPerWorkspace: SettingProperty(\.limits.storedMebibytesPerWorkspace)
    case .conversationsPerVisitor: SettingProperty(\.limits.conversationsPerVisitor)
    case .newVisitorsPerWorkspace: SettingProperty(\.limits.newVisitorsPerWorkspace)
    case .expensiveReaders: SettingProperty(\.limits.expensiveReaders)
    case .expensivePerWorkspace: SettingProperty(\.limits.expensivePerWorkspace)
    case .expensiveSeconds: SettingProperty(\.limits.expensiveSeconds)
    case .exemptAddresses: SettingProperty(\.limits.exemptAddresses)
    }
  }
}

/// A value as the YAML file has it; a list with commas, as in variables.
protocol SettingValue {
  var settingText: String { get }
}

extension Int: SettingValue { var settingText: String { "\(self)" } }
extension Bool: SettingValue { var settingText: String { "\(self)" } }
extension String: SettingValue { var settingText: String { self } }
extension ListenAddress: SettingValue { var settingText: String { description } }
extension MaintenanceWindow: SettingValue { var settingText: String { description } }
extension StartTLS: SettingValue { var settingText: String { rawValue } }
extension LogLevel: SettingValue { var settingText: String { rawValue } }
extension LogFormat: SettingValue { var settingText: String { rawValue } }

extension ClosedRange<Int>: SettingValue {
  var settingText: String {
    lowerBound == upperBound ? "\(lowerBound)" : "\(lowerBound)-\(upperBound)"
  }
}

extension Optional: SettingValue where Wrapped: SettingValue {
  var settingText: String { self?.settingText ?? "none" }
}

extension Array: SettingValue where Element: SettingValue {
  var settingText: String { isEmpty ? "none" : map(\.settingText).joined(separator: ", ") }
}

/// The comparison of a running gateway's settings with its configuration as read again.
import ObjectStorage
import Testing
import VirusScan

@testable import Settings

@Suite struct SettingsChangesTests {
  @Test("every setting is compared: a change of any one is found, and no other with it")
  func every() {
    for key in SettingKey.allCases {
      let new = changed(key)
      let found = SettingKey.allCases.filter { other in
        other.property.text(Settings()) != other.property.text(new)
      }
      #expect(found == [key])
    }
  }

  @Test("a change is reported once, and taken over exactly if it waits for no restart")
  func takenOver() {
    for key in SettingKey.allCases {
      let new = changed(key)
      var running = Settings()
      // A gateway with its own database, so that another URL is no start of a private one.
      if key == .databaseURL { running.databaseURL = "host=old" }
      let changes = running.takeOver(new)
      #expect((changes.applied + changes.waiting).map(\.key) == [key])
      #expect(changes.applied.isEmpty == !key.isReloadable)
      #expect((key.property.text(running) == key.property.text(new)) == key.isReloadable)
      #expect(running.takeOver(new).applied.isEmpty)
      #expect(running.takeOver(new).waiting == changes.waiting, "it still waits")
    }
  }

  @Test("a change contains the values, except those of secrets")
  func secrets() {
    for key in SettingKey.allCases {
      var running = Settings()
      let changes = running.takeOver(changed(key))
      let change = (changes.applied + changes.waiting).first
      #expect((change?.before == nil) == key.isSecret)
      #expect((change?.after == nil) == key.isSecret)
    }
    var running = Settings()
    var new = Settings()
    new.limits.exemptAddresses = []
    new.webhooks.ports = [443...443, 8_000...8_999]
    let all = running.takeOver(new)
    #expect((all.applied + all.waiting).map(\.after) == ["none", "443, 8000-8999"])
  }

  @Test("a private PostgreSQL is neither started nor left while the gateway runs")
  func privateDatabase() {
    var new = Settings()
    new.databaseURL = "host=other"
    var running = Settings()
    #expect(running.takeOver(new).waiting.map(\.key) == [.databaseURL])
    #expect(running.databaseURL == nil)
    running.databaseURL = "host=mine"
    #expect(running.takeOver(Settings()).waiting.map(\.key) == [.databaseURL])
    #expect(running.takeOver(new).applied.map(\.key) == [.databaseURL])
  }

  private func change(_ values: inout AttachmentSettings) {
    values.storage = .s3
    values.folder = "/files"
    values.s3.endpoint = S3Endpoint("https://s3.test")
    values.s3.region = "eu"
    values.s3.bucket = "files"
    values.s3.accessKey = "a"
    values.s3.secretKey = "k"
    values.s3.isPathStyle = false
    values.s3.authority = "/ca"
    values.scanner = ClamAddress("tcp:127.0.0.1:3310")
    values.scannerIsRequired = false
    values.scannerSeconds = 1
    values.cleansImages = false
  }

  private func change(_ values: inout MailSettings) {
    values.smtpURL = "smtps://a.test"
    values.user = "chat"
    values.password = "k"
    values.from = "chat@a.test"
    values.startTLS = .off
    values.caFile = "/ca"
    values.timeoutSeconds = 1
    values.retryMilliseconds = 101
    values.imapURL = "imaps://a.test/INBOX"
    values.imapUser = "chat"
    values.imapPassword = "k"
    values.imapProcessed = "Done"
    values.imapPollSeconds = 1
    values.replyTo = "replies@a.test"
    values.verdictServer = "mx.a.test"
  }

  /// Settings that differ from the default in one key.
  private func changed(_ key: SettingKey) -> Settings {
    var values = Settings()
    values.listen = [ListenAddress(host: "::1", port: 1)]
    values.adminListen = []
    values.listenShared = true
    values.tls.listen = [ListenAddress(host: "::1", port: 2)]
    values.tls.certificates = ["a"]
    values.tls.keys = ["b"]
    values.tls.compactRecords = true
    values.tls.hstsSeconds = 1
    values.publicURL = "https://a.test"
    values.databaseURL = "host=new"
    values.databaseDirectURL = "host=direct"
    values.migrationsURL = "host=owner"
    values.user = "chirrup"
    values.dataDirectory = "/data"
    values.loops = 3
    values.log.level = .error
    values.log.format = .json
    values.log.access = true
    values.trustedProxies = ["10.0.0.0/8"]
    values.proxyProtocol = true
    values.countryHeader = "X-Country"
    values.allowedHosts = ["a.test"]
    values.tokens.visitorSeconds = 61
    values.tokens.operatorSeconds = 61
    values.credentialsKeys = ["k"]
    values.webhooks.allowsPrivate = true
    values.webhooks.ports = [1...2]
    values.webhooks.timeoutSeconds = 1
    values.webhooks.retryMilliseconds = 101
    change(&values.attachments)
    change(&values.mail)
    values.channels.lineAPIURL = "http://127.0.0.1:9"
    values.channels.lineDataURL = "http://127.0.0.1:8"
    values.channels.telegramAPIURL = "http://127.0.0.1:7"
    values.maintenance.window = MaintenanceWindow(begin: 1, end: 2)
    values.maintenance.conversationDays = 1
    values.maintenance.auditDays = 1
    values.compression.isEnabled = false
    values.compression.keepsContext = true
    values.compression.windowBits = 9
    values.compression.memoryLevel = 1
    values.compression.level = 2
    values.compression.thresholdBytes = 1
    values.allowedOrigins = ["https://a.test"]
    values.requireOrigin = true
    values.drainSeconds = 1
    values.migrate = false
    values.debugEcho = true
    values.demoContent = false
    values.demo = true
    values.limits.exemptAddresses = ["10.0.0.1"]
    if let range = key.range, let path = key.limit {
      let old = values.limits[keyPath: path]
      values.limits[keyPath: path] = old == range.lowerBound ? range.upperBound : range.lowerBound
    }
    var new = Settings()
    new.take(key, from: values)
    return new
  }
}

extension SettingKey {
  /// The place of a limit that is a number.
  fileprivate var limit: WritableKeyPath<LimitSettings, Int>? {
    switch self {
    case .connections: \.connections
    case .warmSessions: \.warmSessions
    case .recentMebibytes: \.recentMebibytes
    case .connectionsPerAddress: \.connectionsPerAddress
    case .connectionsPerVisitor: \.connectionsPerVisitor
    case .connectionsPerWorkspace: \.connectionsPerWorkspace
    case .handshakes: \.handshakes
    case .handshakesPerAddress: \.handshakesPerAddress
    case .connectsPerAddress: \.connectsPerAddress
    case .hellosPerAddress: \.hellosPerAddress
    case .tokensPerAddress: \.tokensPerAddress
    case .requestsPerMember: \.requestsPerMember
    case .requestsPerKey: \.requestsPerKey
    case .requestsPerVisitor: \.requestsPerVisitor
    case .requestsPerWorkspace: \.requestsPerWorkspace
    case .sendsPerVisitor: \.sendsPerVisitor
    case .sendsPerAddress: \.sendsPerAddress
    case .sendsPerWorkspace: \.sendsPerWorkspace
    case .storedMebibytesPerVisitor: \.storedMebibytesPerVisitor
    case .storedMebibytesPerAddress: \.storedMebibytesPerAddress
    case .storedMebibytesPerWorkspace: \.storedMebibytesPerWorkspace
    case .conversationsPerVisitor: \.conversationsPerVisitor
    case .newVisitorsPerWorkspace: \.newVisitorsPerWorkspace
    case .expensiveReaders: \.expensiveReaders
    case .expensivePerWorkspace: \.expensivePerWorkspace
    case .expensiveSeconds: \.expensiveSeconds
    default: nil
    }
  }
}

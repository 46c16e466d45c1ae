/// Settings: their sources, precedence, and error messages.
import Foundation
import ObjectStorage
import Testing
import VirusScan

@testable import Settings

@Suite struct SettingsTests {
  @Test("without a source, all settings have their defaults")
  func defaults() async throws {
    let loaded = try await Settings.load(environment: [:])
    #expect(loaded.settings == Settings())
    #expect(loaded.warnings.isEmpty)
  }

  @Test("config/chirrup.yaml documents every key, with its default")
  func documented() async throws {
    let file = packageDirectory + "/config/chirrup.yaml"
    let loaded = try await Settings.load(file: file, environment: [:])
    #expect(loaded.settings == Settings())
    let text = try String(contentsOfFile: file, encoding: .utf8)
    for key in SettingKey.allCases {
      #expect(text.contains("\(key.components.last ?? ""):"), "\(key.rawValue) is not documented")
      if let range = key.range {
        #expect(
          text.contains("\(range.lowerBound) to \(range.upperBound)"), "range of \(key.rawValue)")
      }
    }
  }

  @Test("a flag precedes CHIRRUP_DATABASE_URL, that one DATABASE_URL, and the file comes last")
  func precedence() async throws {
    let file = try TemporaryFile("database_url: host=file dbname=a\nloops: 1\n")
    var environment = ["LOOPS": "7"]
    func load(flags: [SettingKey: String] = [:]) async throws -> Settings {
      try await Settings.load(file: file.path, flags: flags, environment: environment).settings
    }
    #expect(try await load().databaseURL == "host=file dbname=a")
    environment["DATABASE_URL"] = "postgresql://plain/a"
    #expect(try await load().databaseURL == "postgresql://plain/a")
    environment["CHIRRUP_DATABASE_URL"] = "postgresql://ours/a"
    #expect(try await load().databaseURL == "postgresql://ours/a")
    #expect(
      try await load(flags: [.databaseURL: "postgres://flag/a"]).databaseURL == "postgres://flag/a")
    #expect(try await load().loops == 1, "only DATABASE_URL is read without the prefix")
    environment["CHIRRUP_LOOPS"] = "2"
    #expect(try await load().loops == 2)
    #expect(try await load(flags: [.loops: "3"]).loops == 3)
  }

  @Test("TLS requires certificates, a key for each, and separate addresses")
  func tls() async throws {
    func problems(_ text: String) async throws -> String {
      let file = try TemporaryFile(text)
      do throws(SettingsFault) {
        _ = try await Settings.load(file: file.path, environment: [:])
        return ""
      } catch {
        return error.problems.joined(separator: "\n")
      }
    }
    let address = "127.0.0.1:8443"
    #expect(
      try await problems("tls: {listen: [\(address)]}").contains(
        "tls.listen requires a certificate"))
    #expect(
      try await problems("tls: {listen: [\(address)], certificates: [a, b], keys: [a]}")
        .contains("there are 1 keys for 2 certificates"))
    #expect(
      try await problems("listen: [\(address)]\ntls: {listen: [\(address)], certificates: [a]}")
        .contains("duplicates"))
    #expect(try await problems("listen: none").contains("there is no address to listen on"))
    #expect(
      try await problems("listen: none\ntls: {listen: [\(address)], certificates: [a]}").isEmpty)
  }

  @Test("secrets come from files that variables name, and from systemd's credentials")
  func secretFiles() async throws {
    let keys = try TemporaryFile("0123456789abcdefghijklmnopqrstuv\nABCDEFGHabcdefghABCDEFGHabcd\n")
    let url = try TemporaryFile("host=secret dbname=a\n")
    var environment = ["DATABASE_URL_FILE": url.path]
    func load() async throws -> Settings {
      let loaded = try await Settings.load(environment: environment)
      #expect(loaded.warnings.isEmpty)
      return loaded.settings
    }
    #expect(try await load().databaseURL == "host=secret dbname=a")
    environment["CHIRRUP_CREDENTIALS_KEY_FILE"] = keys.path
    await #expect(throws: SettingsFault.self, "the second key is too short") { try await load() }
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data("0123456789abcdefghijklmnopqrstuv".utf8).write(
      to: folder.appending(path: "credentials_key"))
    environment = ["CREDENTIALS_DIRECTORY": folder.path]
    #expect(try await load().credentialsKeys == ["0123456789abcdefghijklmnopqrstuv"])
    #expect(try await load().databaseURL == nil)
    environment["CHIRRUP_CREDENTIALS_KEY"] = "ABCDEFGHabcdefghABCDEFGHabcdefgh"
    #expect(try await load().credentialsKeys == ["ABCDEFGHabcdefghABCDEFGHabcdefgh"])
    environment["CHIRRUP_CREDENTIALS_KEY_FILE"] = "/no/such/file"
    do throws(SettingsFault) {
      _ = try await Settings.load(environment: environment)
      Issue.record("a secret was given twice, once by a missing file")
    } catch {
      let text = error.problems.joined(separator: "\n")
      #expect(text.contains("are both set") && text.contains("/no/such/file cannot be read"))
      #expect(!text.contains("ABCDEFGHabcdefgh"))
    }
  }

  @Test("the metrics share the addresses of listen only if that is written")
  func adminListen() async throws {
    func load(_ text: String) async throws -> Settings {
      try await Settings.load(environment: ["CHIRRUP_ADMIN_LISTEN": text]).settings
    }
    #expect(try await !load("").adminIsPublic)
    #expect(try await load("none").adminListen.isEmpty)
    #expect(try await load("listen").adminIsPublic)
    #expect(try await load("0.0.0.0:9180").adminListen[0].port == 9180)
    await #expect(throws: SettingsFault.self) { try await load("127.0.0.1:8080") }
  }

  @Test("each key can be set in the file and by its variable")
  func everyKey() async throws {
    let file = try TemporaryFile(
      """
      listen: ["127.0.0.1:1", "[::1]:2", "localhost:0"]
      admin_listen: [127.0.0.1:9, "[::1]:9"]
      user: chirrup
      tls:
        hsts_seconds: 60
        listen: [127.0.0.1:443]
        certificates: [a.pem, /b/c.pem]
        keys: [a.key, b.key]
        compact_records: true
      public_url: https://chat.example.com/
      database_url: postgresql:///chat
      database_direct_url: host=direct dbname=chat
      migrations_url: host=direct dbname=chat user=owner
      data_dir: /srv/chirrup
      loops: 4
      log: {level: debug, format: json, access: true}
      limits:
        connections: 10
        warm_sessions: 256
        recent_mebibytes: 7
        connections_per_address: 5
        connections_per_visitor: 4
        connections_per_workspace: 9
        handshakes: 8
        handshakes_per_address: 3
        connects_per_address: 30
        hellos_per_address: 20
        tokens_per_address: 6
        requests_per_member: 31
        requests_per_key: 32
        requests_per_visitor: 33
        requests_per_workspace: 34
        sends_per_visitor: 41
        sends_per_address: 42
        sends_per_workspace: 43
        stored_mebibytes_per_visitor: 44
        stored_mebibytes_per_address: 45
        stored_mebibytes_per_workspace: 46
        conversations_per_visitor: 47
        new_visitors_per_workspace: 48
        expensive_readers: 2
        expensive_per_workspace: 3
        expensive_seconds: 35
        exempt_addresses: none
      trusted_proxies: [10.0.0.0/8, "2001:db8::1"]
      proxy_protocol: true
      country_header: CF-IPCountry
      allowed_hosts: [Chat.internal, gateway]
      tokens: {visitor_seconds: 60, operator_seconds: 86400}
      credentials_key: [0123456789abcdefghijklmnopqrstuv, ABCDEFGHabcdefghABCDEFGHabcdefgh]
      webhooks: {allow_private: true, ports: ["443", 8000-8999], timeout_seconds: 1,
        retry_milliseconds: 100}
      attachments: {storage: s3, folder: /srv/uploads, scanner: "tcp:127.0.0.1:3310",
        scanner_required: no, scanner_seconds: 5, clean_images: no,
        s3: {endpoint: "https://s3.example.com", region: eu-central-1, bucket: files,
          access_key: AKIA1, secret_key: s3cret, path_style: no, authority: /etc/s3.pem}}
      mail: {smtp_url: "smtps://mail.example.com:465", user: chat, password: word,
        from: chat@example.com, starttls: optional, ca_file: /etc/mail.pem, timeout_seconds: 9,
        retry_milliseconds: 200, imap_url: "imaps://mail.example.com:993", imap_user: replies,
        imap_password: secret, imap_processed: Archive/Done, imap_poll_seconds: 5,
        reply_to: replies@example.com, authserv_id: mx.example.com}
      channels: {line_api_url: http://127.0.0.1:9/line/, line_data_url: http://127.0.0.1:9/data,
        telegram_api_url: http://127.0.0.1:9/telegram}
      maintenance: {window: 22:30-04:00 Europe/Berlin, conversation_days: 365, audit_days: 730}
      compression: {enabled: no, context_takeover: true, window_bits: 9, memory_level: 8,
        level: 9, threshold_bytes: 0}
      allowed_origins: [https://Example.com, "http://localhost:3000"]
      require_origin: true
      drain_seconds: 0
      migrate: false
      debug_echo: true
      demo_content: false
      listen_shared: true
      demo: yes
      """)
    var expected = Settings()
    expected.listen = [
      ListenAddress(host: "127.0.0.1", port: 1), ListenAddress(host: "::1", port: 2),
      ListenAddress(host: "127.0.0.1", port: 0),
    ]
    expected.adminListen = [
      ListenAddress(host: "127.0.0.1", port: 9), ListenAddress(host: "::1", port: 9),
    ]
    expected.user = "chirrup"
    expected.tls.hstsSeconds = 60
    expected.tls.listen = [ListenAddress(host: "127.0.0.1", port: 443)]
    expected.tls.certificates = ["a.pem", "/b/c.pem"]
    expected.tls.keys = ["a.key", "b.key"]
    expected.tls.compactRecords = true
    expected.limits.handshakes = 8
    expected.limits.handshakesPerAddress = 3
    expected.publicURL = "https://chat.example.com"
    expected.databaseURL = "postgresql:///chat"
    expected.databaseDirectURL = "host=direct dbname=chat"
    expected.migrationsURL = "host=direct dbname=chat user=owner"
    expected.dataDirectory = "/srv/chirrup"
    expected.loops = 4
    expected.log.level = .debug
    expected.log.format = .json
    expected.log.access = true
    expected.limits.connections = 10
    expected.limits.warmSessions = 256
    expected.limits.recentMebibytes = 7
    expected.credentialsKeys = [
      "0123456789abcdefghijklmnopqrstuv", "ABCDEFGHabcdefghABCDEFGHabcdefgh",
    ]
    expected.webhooks.allowsPrivate = true
    expected.webhooks.ports = [443...443, 8_000...8_999]
    expected.webhooks.timeoutSeconds = 1
    expected.webhooks.retryMilliseconds = 100
    expected.attachments.storage = .s3
    expected.attachments.folder = "/srv/uploads"
    expected.attachments.s3.endpoint = S3Endpoint("https://s3.example.com")
    expected.attachments.s3.region = "eu-central-1"
    expected.attachments.s3.bucket = "files"
    expected.attachments.s3.accessKey = "AKIA1"
    expected.attachments.s3.secretKey = "s3cret"
    expected.attachments.s3.isPathStyle = false
    expected.attachments.s3.authority = "/etc/s3.pem"
    expected.attachments.scanner = ClamAddress("tcp:127.0.0.1:3310")
    expected.attachments.scannerIsRequired = false
    expected.attachments.scannerSeconds = 5
    expected.attachments.cleansImages = false
    expected.mail = MailSettingsTests.all
    expected.channels.lineAPIURL = "http://127.0.0.1:9/line"
    expected.channels.telegramAPIURL = "http://127.0.0.1:9/telegram"
    expected.channels.lineDataURL = "http://127.0.0.1:9/data"
    expected.maintenance.window = MaintenanceWindow(begin: 1_350, end: 240, zone: "Europe/Berlin")
    expected.maintenance.conversationDays = 365
    expected.maintenance.auditDays = 730
    expected.compression.isEnabled = false
    expected.compression.keepsContext = true
    expected.compression.windowBits = 9
    expected.compression.memoryLevel = 8
    expected.compression.level = 9
    expected.compression.thresholdBytes = 0
    expected.limits.connectionsPerAddress = 5
    expected.limits.connectionsPerVisitor = 4
    expected.limits.connectionsPerWorkspace = 9
    expected.limits.connectsPerAddress = 30
    expected.limits.hellosPerAddress = 20
    expected.limits.tokensPerAddress = 6
    expected.limits.requestsPerMember = 31
    expected.limits.requestsPerKey = 32
    expected.limits.requestsPerVisitor = 33
    expected.limits.requestsPerWorkspace = 34
    expected.limits.sendsPerVisitor = 41
    expected.limits.sendsPerAddress = 42
    expected.limits.sendsPerWorkspace = 43
    expected.limits.storedMebibytesPerVisitor = 44
    expected.limits.storedMebibytesPerAddress = 45
    expected.limits.storedMebibytesPerWorkspace = 46
    expected.limits.conversationsPerVisitor = 47
    expected.limits.newVisitorsPerWorkspace = 48
    expected.limits.expensiveReaders = 2
    expected.limits.expensivePerWorkspace = 3
    expected.limits.expensiveSeconds = 35
    expected.limits.exemptAddresses = []
    expected.trustedProxies = ["10.0.0.0/8", "2001:db8::1"]
    expected.proxyProtocol = true
    expected.countryHeader = "CF-IPCountry"
    expected.allowedHosts = ["chat.internal", "gateway"]
    expected.requireOrigin = true
    expected.tokens.visitorSeconds = 60
    expected.tokens.operatorSeconds = 86_400
    expected.allowedOrigins = ["https://example.com", "http://localhost:3000"]
    expected.drainSeconds = 0
    expected.migrate = false
    expected.debugEcho = true
    expected.demoContent = false
    expected.listenShared = true
    expected.demo = true
    #expect(try await Settings.load(file: file.path, environment: [:]).settings == expected)

    let environment = [
      "CHIRRUP_LISTEN": "127.0.0.1:1, [::1]:2,localhost:0",
      "CHIRRUP_ADMIN_LISTEN": "127.0.0.1:9,[::1]:9", "CHIRRUP_USER": "chirrup",
      "CHIRRUP_TLS_HSTS_SECONDS": "60",
      "CHIRRUP_TLS_LISTEN": "127.0.0.1:443",
      "CHIRRUP_TLS_CERTIFICATES": "a.pem, /b/c.pem",
      "CHIRRUP_TLS_KEYS": "a.key,b.key",
      "CHIRRUP_TLS_COMPACT_RECORDS": "true",
      "CHIRRUP_PUBLIC_URL": "https://chat.example.com",
      "CHIRRUP_DATABASE_URL": "postgresql:///chat",
      "CHIRRUP_DATABASE_DIRECT_URL": "host=direct dbname=chat",
      "CHIRRUP_MIGRATIONS_URL": "host=direct dbname=chat user=owner",
      "CHIRRUP_DATA_DIR": "/srv/chirrup",
      "CHIRRUP_LOOPS": "4",
      "CHIRRUP_LOG_LEVEL": "DEBUG",
      "CHIRRUP_LOG_FORMAT": "json", "CHIRRUP_LOG_ACCESS": "true",
      "CHIRRUP_LIMITS_CONNECTIONS": "10",
      "CHIRRUP_LIMITS_WARM_SESSIONS": "256", "CHIRRUP_LIMITS_RECENT_MEBIBYTES": "7",
      "CHIRRUP_LIMITS_CONNECTIONS_PER_ADDRESS": "5",
      "CHIRRUP_LIMITS_CONNECTIONS_PER_VISITOR": "4",
      "CHIRRUP_LIMITS_CONNECTIONS_PER_WORKSPACE": "9",
      "CHIRRUP_LIMITS_HANDSHAKES": "8",
      "CHIRRUP_LIMITS_HANDSHAKES_PER_ADDRESS": "3",
      "CHIRRUP_LIMITS_CONNECTS_PER_ADDRESS": "30",
      "CHIRRUP_LIMITS_HELLOS_PER_ADDRESS": "20",
      "CHIRRUP_LIMITS_TOKENS_PER_ADDRESS": "6",
      "CHIRRUP_LIMITS_REQUESTS_PER_MEMBER": "31",
      "CHIRRUP_LIMITS_REQUESTS_PER_KEY": "32",
      "CHIRRUP_LIMITS_REQUESTS_PER_VISITOR": "33",
      "CHIRRUP_LIMITS_REQUESTS_PER_WORKSPACE": "34",
      "CHIRRUP_LIMITS_SENDS_PER_VISITOR": "41",
      "CHIRRUP_LIMITS_SENDS_PER_ADDRESS": "42",
      "CHIRRUP_LIMITS_SENDS_PER_WORKSPACE": "43",
      "CHIRRUP_LIMITS_STORED_MEBIBYTES_PER_VISITOR": "44",
      "CHIRRUP_LIMITS_STORED_MEBIBYTES_PER_ADDRESS": "45",
      "CHIRRUP_LIMITS_STORED_MEBIBYTES_PER_WORKSPACE": "46",
      "CHIRRUP_LIMITS_CONVERSATIONS_PER_VISITOR": "47",
      "CHIRRUP_LIMITS_NEW_VISITORS_PER_WORKSPACE": "48",
      "CHIRRUP_LIMITS_EXPENSIVE_READERS": "2",
      "CHIRRUP_LIMITS_EXPENSIVE_PER_WORKSPACE": "3",
      "CHIRRUP_LIMITS_EXPENSIVE_SECONDS": "35",
      "CHIRRUP_LIMITS_EXEMPT_ADDRESSES": "none",
      "CHIRRUP_TRUSTED_PROXIES": "10.0.0.0/8,2001:db8::1",
      "CHIRRUP_PROXY_PROTOCOL": "true",
      "CHIRRUP_COUNTRY_HEADER": "CF-IPCountry",
      "CHIRRUP_ALLOWED_HOSTS": "chat.internal, gateway",
      "CHIRRUP_REQUIRE_ORIGIN": "yes",
      "CHIRRUP_TOKENS_VISITOR_SECONDS": "60",
      "CHIRRUP_TOKENS_OPERATOR_SECONDS": "86400",
      "CHIRRUP_CREDENTIALS_KEY":
        "0123456789abcdefghijklmnopqrstuv,ABCDEFGHabcdefghABCDEFGHabcdefgh",
      "CHIRRUP_WEBHOOKS_ALLOW_PRIVATE": "yes",
      "CHIRRUP_WEBHOOKS_PORTS": "443,8000-8999",
      "CHIRRUP_WEBHOOKS_TIMEOUT_SECONDS": "1",
      "CHIRRUP_WEBHOOKS_RETRY_MILLISECONDS": "100",
      "CHIRRUP_ATTACHMENTS_STORAGE": "s3", "CHIRRUP_ATTACHMENTS_FOLDER": "/srv/uploads",
      "CHIRRUP_ATTACHMENTS_S3_ENDPOINT": "https://s3.example.com",
      "CHIRRUP_ATTACHMENTS_S3_REGION": "eu-central-1", "CHIRRUP_ATTACHMENTS_S3_BUCKET": "files",
      "CHIRRUP_ATTACHMENTS_S3_ACCESS_KEY": "AKIA1",
      "CHIRRUP_ATTACHMENTS_S3_SECRET_KEY": "s3cret",
      "CHIRRUP_ATTACHMENTS_S3_PATH_STYLE": "no",
      "CHIRRUP_ATTACHMENTS_S3_AUTHORITY": "/etc/s3.pem",
      "CHIRRUP_ATTACHMENTS_SCANNER": "tcp:127.0.0.1:3310",
      "CHIRRUP_ATTACHMENTS_SCANNER_REQUIRED": "no", "CHIRRUP_ATTACHMENTS_SCANNER_SECONDS": "5",
      "CHIRRUP_ATTACHMENTS_CLEAN_IMAGES": "no",
      "CHIRRUP_MAIL_SMTP_URL": "smtps://mail.example.com:465", "CHIRRUP_MAIL_USER": "chat",
      "CHIRRUP_MAIL_PASSWORD": "word", "CHIRRUP_MAIL_FROM": "chat@example.com",
      "CHIRRUP_MAIL_STARTTLS": "optional", "CHIRRUP_MAIL_CA_FILE": "/etc/mail.pem",
      "CHIRRUP_MAIL_TIMEOUT_SECONDS": "9", "CHIRRUP_MAIL_RETRY_MILLISECONDS": "200",
      "CHIRRUP_MAIL_IMAP_URL": "imaps://mail.example.com:993",
      "CHIRRUP_MAIL_IMAP_USER": "replies", "CHIRRUP_MAIL_IMAP_PASSWORD": "secret",
      "CHIRRUP_MAIL_IMAP_PROCESSED": "Archive/Done", "CHIRRUP_MAIL_IMAP_POLL_SECONDS": "5",
      "CHIRRUP_MAIL_REPLY_TO": "replies@example.com",
      "CHIRRUP_MAIL_AUTHSERV_ID": "mx.example.com",
      "CHIRRUP_CHANNELS_LINE_API_URL": "http://127.0.0.1:9/line/",
      "CHIRRUP_CHANNELS_LINE_DATA_URL": "http://127.0.0.1:9/data",
      "CHIRRUP_CHANNELS_TELEGRAM_API_URL": "http://127.0.0.1:9/telegram",
      "CHIRRUP_MAINTENANCE_WINDOW": "22:30-04:00 Europe/Berlin",
      "CHIRRUP_MAINTENANCE_CONVERSATION_DAYS": "365",
      "CHIRRUP_MAINTENANCE_AUDIT_DAYS": "730",
      "CHIRRUP_COMPRESSION_ENABLED": "off",
      "CHIRRUP_COMPRESSION_CONTEXT_TAKEOVER": "on",
      "CHIRRUP_COMPRESSION_WINDOW_BITS": "9",
      "CHIRRUP_COMPRESSION_MEMORY_LEVEL": "8",
      "CHIRRUP_COMPRESSION_LEVEL": "9",
      "CHIRRUP_COMPRESSION_THRESHOLD_BYTES": "0",
      "CHIRRUP_ALLOWED_ORIGINS": "https://example.com,http://localhost:3000",
      "CHIRRUP_DRAIN_SECONDS": "0",
      "CHIRRUP_MIGRATE": "false",
      "CHIRRUP_DEBUG_ECHO": "1",
      "CHIRRUP_DEMO_CONTENT": "false",
      "CHIRRUP_LISTEN_SHARED": "true",
      "CHIRRUP_DEMO": "on",
    ]
    #expect(environment.count == SettingKey.allCases.count)
    #expect(Set(environment.keys) == Set(SettingKey.allCases.map(\.environmentName)))
    let loaded = try await Settings.load(environment: environment)
    #expect(loaded.settings == expected)
    #expect(loaded.warnings.isEmpty)
  }

  @Test("all problems are reported together, each with source, reason and accepted values")
  func problems() async throws {
    let file = try TemporaryFile("loop: 4\nlog:\n  level: loud\nlimits:\n  connections: 0\n")
    let fault = await #expect(throws: SettingsFault.self) {
      try await Settings.load(
        file: file.path, flags: [.loops: "many", .publicURL: "ftp://x"],
        environment: ["CHIRRUP_DRAIN_SECONDS": "1e9", "DATABASE_URL": "mysql://root:secret@host"])
    }
    let path = file.path
    #expect(
      fault?.problems == [
        "loop: unknown setting (\(path)); did you mean loops?",
        "--public-url: \"ftp://x\" is not accepted; expected: " + SettingKey.publicURL.accepted,
        "database_url (DATABASE_URL): the value is not accepted; expected: "
          + SettingKey.databaseURL.accepted,
        "--loops: \"many\" is not a whole number; expected: a whole number from 0 to 64",
        "log.level (\(path)): \"loud\" is not accepted; expected: "
          + "trace, debug, info, notice, warning, error, critical",
        "limits.connections (\(path)): \"0\" is out of range; expected: "
          + "a whole number from 1 to 1000000",
        "CHIRRUP_DRAIN_SECONDS: \"1e9\" is not a whole number; expected: "
          + "a whole number from 0 to 300",
      ])
    #expect(fault?.description.contains("secret") == false)
    #expect(fault?.description.utf8.starts(with: "7 settings are invalid".utf8) == true)
  }

  @Test(
    "a file that is missing, or not a YAML mapping, is an error",
    arguments: ["- a", "a: [", "a: 1\na: 2"])
  func brokenFile(text: String) async throws {
    let file = try TemporaryFile(text)
    await #expect(throws: SettingsFault.self) {
      try await Settings.load(file: file.path, environment: [:])
    }
    await #expect(throws: SettingsFault.self) {
      try await Settings.load(file: file.path + ".absent", environment: [:])
    }
  }

  @Test("keys without a value, and sections without keys, have their defaults")
  func emptyValues() async throws {
    let file = try TemporaryFile("public_url:\nlog:\nlimits: {}\n")
    let loaded = try await Settings.load(file: file.path, environment: ["CHIRRUP_LOOPS": ""])
    #expect(loaded.settings == Settings())
  }

  @Test("an unknown CHIRRUP_ variable is a warning, since platforms set such variables")
  func unknownVariable() async throws {
    let loaded = try await Settings.load(
      environment: ["CHIRRUP_LOOP": "2", "CHIRRUP_SERVICE_HOST": "10.0.0.1"])
    #expect(
      loaded.warnings == [
        "the environment variable CHIRRUP_LOOP is not a setting and is ignored"
          + "; did you mean CHIRRUP_LOOPS?",
        "the environment variable CHIRRUP_SERVICE_HOST is not a setting and is ignored",
      ])
  }

  @Test("without a flag, CHIRRUP_CONFIG names the file")
  func configVariable() async throws {
    let file = try TemporaryFile("loops: 5\n")
    let other = try TemporaryFile("loops: 6\n")
    let environment = ["CHIRRUP_CONFIG": file.path]
    #expect(try await Settings.load(environment: environment).settings.loops == 5)
    #expect(
      try await Settings.load(file: other.path, environment: environment).settings.loops == 6)
  }

  @Test("a demo on a public address is a warning")
  func publicDemo() async throws {
    let flags: [SettingKey: String] = [.demo: "true", .listen: "0.0.0.0:8080"]
    #expect(try await Settings.load(flags: flags, environment: [:]).warnings.count == 1)
    #expect(try await Settings.load(flags: [.demo: "true"], environment: [:]).warnings.isEmpty)
  }
}

private let packageDirectory = String(
  #filePath.dropLast("/Tests/SettingsTests/SettingsTests.swift".count))

/// A file that is deleted at the end of the test.
private final class TemporaryFile {
  let path: String

  init(_ text: String) throws {
    path = "/tmp/chirrup-settings-\(UInt64.random(in: 0...UInt64.max)).yaml"
    try text.write(toFile: path, atomically: false, encoding: .utf8)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

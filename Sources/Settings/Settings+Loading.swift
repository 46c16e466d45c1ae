import Primitives

/// Loads settings: reads and checks each key, and reports all problems together.
extension Settings {
  /// - Parameters:
  ///   - file: the path of a YAML file; nil: the one that CHIRRUP_CONFIG names, if it is set.
  ///   - flags: values of the command line.
  ///   - environment: nil: the environment of the process.
  /// - Returns: the settings, and warnings for the log.
  public static func load(
    file: String? = nil, flags: [SettingKey: String] = [:], environment: [String: String]? = nil
  ) async throws(SettingsFault) -> (settings: Settings, warnings: [String]) {
    let sources = try await SettingsSources(flags: flags, environment: environment, file: file)
    var check = SettingsCheck(sources: sources)
    check.problems = sources.secretProblems
    for name in sources.unknownKeys {
      let meant = suggestion(for: name, among: SettingKey.allCases.map(\.rawValue))
      check.problems.append(
        "\(name): unknown setting (\(sources.file ?? ""))"
          + (meant.map { "; did you mean \($0)?" } ?? ""))
    }
    let settings = Settings(reading: &check)
    guard check.problems.isEmpty else { throw SettingsFault(problems: check.problems) }
    // Only a warning, since container platforms set variables such as CHIRRUP_SERVICE_HOST.
    var warnings = sources.unknownVariables.map { name in
      let meant = suggestion(for: name, among: SettingKey.allCases.map(\.environmentName))
      return "the environment variable \(name) is not a setting and is ignored"
        + (meant.map { "; did you mean \($0)?" } ?? "")
    }
    if settings.demo, !(settings.listen + settings.tls.listen).allSatisfy(\.isLoopback) {
      warnings.append(
        "demo is on: anyone who can reach this address can log in to the demo's console")
    }
    return (settings, warnings)
  }

  private init(reading check: inout SettingsCheck) {
    self.init()
    check.list(.listen, into: &listen, none: "none") { parseListen($0) }
    if check.sources.text(for: .adminListen)?.text == "listen" {
      adminIsPublic = true
      adminListen = []
    } else {
      check.list(.adminListen, into: &adminListen, none: "none") { parseListen($0) }
    }
    check.list(.tlsListen, into: &tls.listen, none: "none") { parseListen($0) }
    check.list(.tlsCertificates, into: &tls.certificates) { parsePath($0) }
    check.list(.tlsKeys, into: &tls.keys) { parsePath($0) }
    check.number(.tlsHSTSSeconds, into: &tls.hstsSeconds)
    check.value(.tlsCompactRecords, into: &tls.compactRecords) { parseBoolean($0) }
    check.optional(.publicURL, into: &publicURL) { parsePublicURL($0) }
    readDatabase(&check)
    check.optional(.user, into: &user) { parseUser($0) }
    check.value(.dataDirectory, into: &dataDirectory) { $0.utf8.contains(0) ? nil : $0 }
    check.number(.loops, into: &loops)
    check.value(.logLevel, into: &log.level) { LogLevel(rawValue: $0.lowercased()) }
    check.value(.logFormat, into: &log.format) { LogFormat(rawValue: $0.lowercased()) }
    check.value(.logAccess, into: &log.access) { parseBoolean($0) }
    readLimits(&check)
    check.list(.trustedProxies, into: &trustedProxies, none: "none") { parseRange($0) }
    check.value(.proxyProtocol, into: &proxyProtocol) { parseBoolean($0) }
    check.optional(.countryHeader, into: &countryHeader) { parseFieldName($0) }
    check.list(.allowedHosts, into: &allowedHosts) { parseHost($0) }
    check.number(.visitorTokenSeconds, into: &tokens.visitorSeconds)
    check.number(.operatorTokenSeconds, into: &tokens.operatorSeconds)
    check.list(.credentialsKey, into: &credentialsKeys) { parseKeyText($0) }
    check.value(.webhooksAllowPrivate, into: &webhooks.allowsPrivate) { parseBoolean($0) }
    check.list(.webhooksPorts, into: &webhooks.ports) { parsePorts($0) }
    check.number(.webhooksTimeoutSeconds, into: &webhooks.timeoutSeconds)
    check.number(.webhooksRetryMilliseconds, into: &webhooks.retryMilliseconds)
    attachments.read(&check)
    mail.read(&check, publicURL)
    check.value(.channelsLineAPIURL, into: &channels.lineAPIURL) { parsePublicURL($0) }
    check.value(.channelsLineDataURL, into: &channels.lineDataURL) { parsePublicURL($0) }
    check.value(.channelsTelegramAPIURL, into: &channels.telegramAPIURL) { parsePublicURL($0) }
    maintenance.read(&check)
    check.value(.compressionEnabled, into: &compression.isEnabled) { parseBoolean($0) }
    check.value(.compressionContextTakeover, into: &compression.keepsContext) { parseBoolean($0) }
    check.number(.compressionWindowBits, into: &compression.windowBits)
    check.number(.compressionMemoryLevel, into: &compression.memoryLevel)
    check.number(.compressionLevel, into: &compression.level)
    check.number(.compressionThresholdBytes, into: &compression.thresholdBytes)
    check.list(.allowedOrigins, into: &allowedOrigins) { parseOrigin($0) }
    check.value(.requireOrigin, into: &requireOrigin) { parseBoolean($0) }
    check.number(.drainSeconds, into: &drainSeconds)
    check.value(.migrate, into: &migrate) { parseBoolean($0) }
    check.value(.listenShared, into: &listenShared) { parseBoolean($0) }
    check.value(.debugEcho, into: &debugEcho) { parseBoolean($0) }
    check.value(.demo, into: &demo) { parseBoolean($0) }
    check.value(.demoContent, into: &demoContent) { parseBoolean($0) }
    checkListeners(&check)
    checkCounts(&check)
    if proxyProtocol, trustedProxies.isEmpty {
      check.refuse(
        .proxyProtocol, because: "it requires trusted_proxies, which is empty")
    }
  }

  private mutating func readLimits(_ check: inout SettingsCheck) {
    check.number(.connections, into: &limits.connections)
    check.number(.warmSessions, into: &limits.warmSessions)
    check.number(.recentMebibytes, into: &limits.recentMebibytes)
    check.number(.connectionsPerAddress, into: &limits.connectionsPerAddress)
    check.number(.connectionsPerVisitor, into: &limits.connectionsPerVisitor)
    check.number(.connectionsPerWorkspace, into: &limits.connectionsPerWorkspace)
    check.number(.handshakes, into: &limits.handshakes)
    check.number(.handshakesPerAddress, into: &limits.handshakesPerAddress)
    check.number(.connectsPerAddress, into: &limits.connectsPerAddress)
    check.number(.hellosPerAddress, into: &limits.hellosPerAddress)
    check.number(.tokensPerAddress, into: &limits.tokensPerAddress)
    check.number(.requestsPerMember, into: &limits.requestsPerMember)
    check.number(.requestsPerKey, into: &limits.requestsPerKey)
    check.number(.requestsPerVisitor, into: &limits.requestsPerVisitor)
    check.number(.requestsPerWorkspace, into: &limits.requestsPerWorkspace)
    check.number(.sendsPerVisitor, into: &limits.sendsPerVisitor)
    check.number(.sendsPerAddress, into: &limits.sendsPerAddress)
    check.number(.sendsPerWorkspace, into: &limits.sendsPerWorkspace)
    check.number(.storedMebibytesPerVisitor, into: &limits.storedMebibytesPerVisitor)
    check.number(.storedMebibytesPerAddress, into: &limits.storedMebibytesPerAddress)
    check.number(.storedMebibytesPerWorkspace, into: &limits.storedMebibytesPerWorkspace)
    check.number(.conversationsPerVisitor, into: &limits.conversationsPerVisitor)
    check.number(.newVisitorsPerWorkspace, into: &limits.newVisitorsPerWorkspace)
    check.number(.expensiveReaders, into: &limits.expensiveReaders)
    check.number(.expensivePerWorkspace, into: &limits.expensivePerWorkspace)
    check.number(.expensiveSeconds, into: &limits.expensiveSeconds)
    check.list(.exemptAddresses, into: &limits.exemptAddresses, none: "none") { parseRange($0) }
  }

  private mutating func readDatabase(_ check: inout SettingsCheck) {
    check.optional(.databaseURL, into: &databaseURL) { isConnectionString($0) ? $0 : nil }
    check.optional(.databaseDirectURL, into: &databaseDirectURL) {
      isConnectionString($0) ? $0 : nil
    }
    check.optional(.migrationsURL, into: &migrationsURL) { isConnectionString($0) ? $0 : nil }
    if databaseURL == nil {
      for (key, url) in [(.databaseDirectURL, databaseDirectURL), (.migrationsURL, migrationsURL)]
        as [(SettingKey, String?)] where url != nil
      {
        check.refuse(key, because: "it requires database_url")
      }
    }
  }
}

extension Settings {
  private func checkListeners(_ check: inout SettingsCheck) {
    let all = listen + tls.listen
    let fixed = all.filter { $0.port != 0 }
    if listen.count > 16 || tls.listen.count > 16 || Set(fixed).count < fixed.count {
      check.refuse(
        Set(fixed).isDisjoint(with: tls.listen) ? .listen : .tlsListen,
        because: "there are more than 16 addresses, or duplicates")
    }
    let admin = adminListen.filter { $0.port != 0 }
    if adminListen.count > 16 || Set(admin).count < admin.count
      || !Set(admin).isDisjoint(with: fixed)
    {
      check.refuse(
        .adminListen,
        because: "there are more than 16 addresses, duplicates, or addresses of listen")
    }
    if all.isEmpty { check.refuse(.listen, because: "there is no address to listen on") }
    if !tls.listen.isEmpty, tls.certificates.isEmpty {
      check.refuse(.tlsCertificates, because: "tls.listen requires a certificate")
    }
    if tls.certificates.count > 64 {
      check.refuse(.tlsCertificates, because: "there are \(tls.certificates.count)")
    }
    if !tls.keys.isEmpty, tls.keys.count != tls.certificates.count {
      check.refuse(
        .tlsKeys,
        because: "there are \(tls.keys.count) keys for \(tls.certificates.count) certificates")
    }
  }

  /// Requests search these lists; 64 elements take well under a microsecond.
  private func checkCounts(_ check: inout SettingsCheck) {
    let counts: [(SettingKey, Int)] = [
      (.allowedOrigins, allowedOrigins.count), (.trustedProxies, trustedProxies.count),
      (.exemptAddresses, limits.exemptAddresses.count), (.allowedHosts, allowedHosts.count),
    ]
    for (key, count) in counts where count > 64 {
      check.refuse(key, because: "there are \(count)")
    }
    if credentialsKeys.count > 8 {
      check.refuse(.credentialsKey, because: "there are \(credentialsKeys.count)")
    }
    if webhooks.ports.count > 16 {
      check.refuse(.webhooksPorts, because: "there are \(webhooks.ports.count)")
    }
  }
}

extension MailSettings {
  fileprivate mutating func read(_ check: inout SettingsCheck, _ publicURL: String?) {
    check.optional(.mailSMTPURL, into: &smtpURL) { parseSMTPURL($0) }
    check.optional(.mailUser, into: &user) { parseMailCredential($0) }
    check.optional(.mailPassword, into: &password) { parseMailCredential($0) }
    check.optional(.mailFrom, into: &from) { parseMailAddress($0) }
    check.value(.mailSTARTTLS, into: &startTLS) { StartTLS(rawValue: $0.lowercased()) }
    check.optional(.mailCAFile, into: &caFile) { parsePath($0) }
    check.number(.mailTimeoutSeconds, into: &timeoutSeconds)
    check.number(.mailRetryMilliseconds, into: &retryMilliseconds)
    readMailbox(&check)
    guard let smtpURL else { return }
    if from == nil { check.refuse(.mailFrom, because: "mail.smtp_url requires it") }
    if publicURL == nil {
      check.refuse(.publicURL, because: "mail.smtp_url requires it: messages have links")
    }
    if (user == nil) != (password == nil) {
      check.refuse(.mailPassword, because: "mail.user and mail.password require each other")
    }
    if user != nil, startTLS != .required, smtpURL.hasPrefix("smtp:") {
      check.refuse(
        .mailSTARTTLS, because: "the password must not be sent without TLS: required or smtps://")
    }
  }
}

extension MailSettings {
  private mutating func readMailbox(_ check: inout SettingsCheck) {
    check.optional(.mailIMAPURL, into: &imapURL) { parseIMAPURL($0) }
    check.optional(.mailIMAPUser, into: &imapUser) { parseMailCredential($0) }
    check.optional(.mailIMAPPassword, into: &imapPassword) { parseMailCredential($0) }
    check.value(.mailIMAPProcessed, into: &imapProcessed) { parseMailFolder($0) }
    check.number(.mailIMAPPollSeconds, into: &imapPollSeconds)
    check.optional(.mailReplyTo, into: &replyTo) { parseReplyAddress($0) }
    check.optional(.mailVerdictServer, into: &verdictServer) { parseMailServerName($0) }
    guard let imapURL else {
      if replyTo != nil {
        check.refuse(.mailReplyTo, because: "nobody reads replies without mail.imap_url")
      }
      return
    }
    if smtpURL == nil {
      check.refuse(.mailIMAPURL, because: "mail.smtp_url is missing: nobody can reply")
    }
    if replyTo == nil { check.refuse(.mailReplyTo, because: "mail.imap_url requires it") }
    if imapUser == nil { check.refuse(.mailIMAPUser, because: "mail.imap_url requires it") }
    if imapPassword == nil {
      check.refuse(.mailIMAPPassword, because: "mail.imap_url requires it")
    }
    if startTLS != .required, imapURL.hasPrefix("imap:") {
      check.refuse(
        .mailSTARTTLS, because: "the password must not be sent without TLS: required or imaps://")
    }
  }
}

extension MaintenanceSettings {
  fileprivate mutating func read(_ check: inout SettingsCheck) {
    check.optional(.maintenanceWindow, into: &window) { parseWindow($0) }
    check.number(.maintenanceConversationDays, into: &conversationDays)
    check.number(.maintenanceAuditDays, into: &auditDays)
  }
}

/// Reads and parses values, and collects the problems.
struct SettingsCheck {
  let sources: SettingsSources
  var problems: [String] = []

  mutating func number(_ key: SettingKey, into value: inout Int) {
    guard let found = sources.text(for: key), let range = key.range else { return }
    if let number = Int(found.text), range.contains(number) {
      value = number
    } else {
      let reason = Int(found.text) == nil ? "is not a whole number" : "is out of range"
      refuse(key, because: "\"\(found.text)\" \(reason)")
    }
  }

  mutating func value<Value>(
    _ key: SettingKey, into value: inout Value, parse: (String) -> Value?
  ) {
    guard let found = sources.text(for: key) else { return }
    if let parsed = parse(found.text) {
      value = parsed
    } else {
      refuse(
        key,
        because: key.isSecret ? "the value is not accepted" : "\"\(found.text)\" is not accepted")
    }
  }

  /// Not an overload of `value`: for an optional `Value`, nil from `parse` would be a value.
  mutating func optional<Value>(
    _ key: SettingKey, into value: inout Value?, parse: (String) -> Value?
  ) {
    guard sources.text(for: key) != nil else { return }
    var found: [Value] = []
    self.value(key, into: &found) { text in parse(text).map { [$0] } }
    value = found.first
  }

  /// Parses a list of values, separated by commas. A problem quotes the first invalid element.
  mutating func list<Value>(
    _ key: SettingKey, into values: inout [Value], none: String? = nil,
    parse: (String) -> Value?
  ) {
    guard let found = sources.text(for: key) else { return }
    // An empty text means the default, so an empty list is written as a word.
    if let none, found.text == none {
      values = []
      return
    }
    var parsed: [Value] = []
    for element in found.text.split(separator: ",", omittingEmptySubsequences: false) {
      let text = String(element.trimmingBlanks)
      guard let value = parse(text) else {
        return refuse(
          key, because: key.isSecret ? "a value is not accepted" : "\"\(text)\" is not accepted")
      }
      parsed.append(value)
    }
    values = parsed
  }

  mutating func refuse(_ key: SettingKey, because reason: String) {
    let source = sources.text(for: key)?.source ?? "default"
    let place =
      source == key.flagName || source == key.environmentName
      ? source : "\(key.rawValue) (\(source))"
    problems.append("\(place): \(reason); expected: \(key.accepted)")
  }
}

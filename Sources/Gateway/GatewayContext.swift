import Attachments
import Channels
import Chat
import Conversations
import Directory
import HTTPClient
import IncomingMail
import Kernel
import Logging
import Mail
import Primitives
import REST
import Settings
import Tokens
import WebPush
import Webhooks

/// The objects that all loops of a gateway share. They are immutable or synchronise themselves.
final class GatewayContext: Sendable {
  /// Those of the start; `rules` has the ones that may change.
  let settings: Settings
  /// The rules with which the loops start.
  let rules: LoopRules
  let loopCount: Int
  let mailboxes: [Mailbox]
  let executors: [LoopExecutor]
  let assets: Assets
  let tokens: TokenAuthority
  let api: API
  let jobs: BackgroundJobs
  let maintenance: Maintenance
  let upkeep: Upkeep
  let peers: Peers
  let connections: PeerConnections
  let admission: Admission
  let probe = ProxyProbe()
  /// Nil without TLS.
  let certificates: Certificates?
  let metrics: MetricsRegistry
  /// One for each loop.
  let pulses: [LoopPulse]
  let deliveries: DeliveryWorker
  let push: PushWorker
  let mail: MailWorker
  let replies: ReplyWorker
  let channels: ChannelWorker
  let contents: ContentWorker
  let readers: ExpensiveReaders
  let attachments: AttachmentFiles
  let reloads: ReloadRequests
  let logger: Logger
  /// Nil if no service manager waits for messages.
  let service: ServiceManager?
  let version: String

  init(
    _ options: GatewayOptions, certificates: Certificates? = nil
  ) throws(Errno) {
    self.certificates = certificates
    settings = options.settings
    loopCount = options.loopCount
    rules = LoopRules(
      settings, databaseURL: options.databaseURL,
      quotas: SharedQuotas(settings.limits.quotas, loopCount: loopCount))
    reloads = try ReloadRequests()
    var mailboxes: [Mailbox] = []
    for _ in 0..<loopCount { mailboxes.append(try Mailbox()) }
    self.mailboxes = mailboxes
    executors = mailboxes.map { LoopExecutor(mailbox: $0) }
    assets = Assets(values: options.pageValues)
    tokens = options.tokens
    let pulses = mailboxes.map { _ in LoopPulse() }
    self.pulses = pulses
    readers = try ExpensiveReaders(
      url: options.databaseURL, count: settings.limits.expensiveReaders,
      seconds: settings.limits.expensiveSeconds, logger: options.logger)
    let services = LoopServices(mailboxes: mailboxes, pulses: pulses, readers: readers)
    var apiOptions = APIOptions()
    apiOptions.onResume = { services.resumed() }
    GatewayContext.use(settings, in: &apiOptions)
    let (logger, keys) = (options.logger, settings.credentialsKeys)
    let secrets = SecretBox(configured: keys, signingKey: options.signingSecret)
    apiOptions.secrets = secrets
    apiOptions.platforms = GatewayContext.platforms(settings)
    apiOptions.webhookGuard = AddressGuard(
      allowsPrivate: settings.webhooks.allowsPrivate, ports: settings.webhooks.ports)
    deliveries = try GatewayContext.deliveries(options, secrets, apiOptions.webhookGuard)
    push = try GatewayContext.push(options, secrets, apiOptions.webhookGuard)
    let mailOptions = GatewayContext.mail(options, secrets)
    attachments = AttachmentFiles(settings) { logger.warning("\($0)") }
    (mail, replies) = try (MailWorker(mailOptions), Self.replies(options, mailOptions, attachments))
    apiOptions.mailFrom = mailOptions.server == nil ? nil : mailOptions.from
    let channelOptions = Self.channels(
      options, secrets, services, apiOptions.webhookGuard, attachments)
    (channels, contents) = try (ChannelWorker(channelOptions), ContentWorker(channelOptions))
    peers = Peers(options, keys: secrets.keyIDs)
    connections = PeerConnections(local: services, peers: peers)
    apiOptions.connections = connections
    apiOptions.reloader = reloads
    apiOptions.attachments = attachments
    GatewayContext.report(to: logger, &apiOptions)
    API.prepare()
    api = API(database: services, sessions: services, tokens: tokens, options: apiOptions)
    let botJob = BotJob(
      Bots(
        database: services, sessions: services, settings: api.cachedSettings,
        patterns: api.patterns, onResume: apiOptions.onResume, log: apiOptions.report))
    let queueJob = QueueJob(
      services: services, settings: api.cachedSettings, mailboxes: mailboxes,
      log: apiOptions.report)
    jobs = BackgroundJobs(
      [
        botJob, queueJob, WatchJob(api.watched, peers), AnswerJob(api),
        TargetJob(services: services, log: apiOptions.report),
        ChannelJob(services, log: apiOptions.report),
        MailReplyJob(services, secrets, log: apiOptions.report),
      ], executors: executors)
    maintenance = Maintenance(
      database: services, botJob: botJob, tokens: tokens, knownKeys: KnownKeys(settings),
      mailboxes: mailboxes, peers: peers, logger: logger)
    upkeep = Upkeep(
      database: services, sessions: services, peers: peers, attachments: attachments,
      rules: Upkeep.Rules(settings, databaseURL: options.databaseURL), logger: logger)
    (admission, metrics) = (Admission(settings), MetricsRegistry(loopCount: loopCount))
    (service, version, self.logger) = (options.service, options.version, logger)
  }

  private static func report(to logger: Logger, _ options: inout APIOptions) {
    options.report = { logger.error("\($0)") }
    options.onSecurityEvent = { event in
      logger.log(
        level: event.isRefusal ? .warning : .notice, "\(event.name)",
        metadata: Dictionary(
          event.fields.map { ($0.name, .string($0.value)) }, uniquingKeysWith: { old, _ in old }))
    }
  }

  private static func deliveries(
    _ options: GatewayOptions, _ secrets: SecretBox, _ addressGuard: AddressGuard
  ) throws(Errno) -> DeliveryWorker {
    let (settings, logger) = (options.settings.webhooks, options.logger)
    return try DeliveryWorker(
      DeliveryOptions(
        databaseURL: options.databaseURL, addressGuard: addressGuard, secrets: secrets,
        timeoutMilliseconds: settings.timeoutSeconds * 1_000,
        schedule: RetrySchedule(firstMilliseconds: Int64(settings.retryMilliseconds)),
        report: { logger.warning("\($0)") }))
  }

  private static func push(
    _ options: GatewayOptions, _ secrets: SecretBox, _ addressGuard: AddressGuard
  ) throws(Errno) -> PushWorker {
    let (settings, logger) = (options.settings, options.logger)
    return try PushWorker(
      PushOptions(
        databaseURL: options.databaseURL, addressGuard: addressGuard, secrets: secrets,
        contact: settings.publicURL, timeoutMilliseconds: settings.webhooks.timeoutSeconds * 1_000,
        schedule: RetrySchedule(firstMilliseconds: Int64(settings.webhooks.retryMilliseconds)),
        report: { logger.warning("\($0)") }))
  }

  private static func mail(_ options: GatewayOptions, _ secrets: SecretBox) -> MailOptions {
    let (settings, logger) = (options.settings.mail, options.logger)
    let from = settings.from.flatMap { MailAddress($0) }
    var mail = MailOptions(
      databaseURL: options.databaseURL, server: MailServerAddress(settings), from: from,
      publicURL: options.settings.publicURL, secrets: secrets,
      schedule: RetrySchedule(firstMilliseconds: Int64(settings.retryMilliseconds)),
      report: { logger.warning("\($0)") })
    if settings.imapURL != nil {
      mail.replies = settings.replyTo.flatMap { MailAddress($0) }.flatMap { ReplyAddress($0) }
    }
    return mail
  }

  private static func replies(
    _ options: GatewayOptions, _ mail: MailOptions, _ attachments: AttachmentFiles
  ) throws(Errno) -> ReplyWorker {
    let settings = options.settings.mail
    return try ReplyWorker(
      ReplyOptions(
        databaseURL: options.databaseURL, folder: MailFolderAddress(settings),
        processedFolder: settings.imapProcessed, pollSeconds: settings.imapPollSeconds,
        replies: mail.replies, from: mail.from, verdictServer: settings.verdictServer,
        attachments: attachments, secrets: mail.secrets, report: mail.report))
  }

  private static func channels(
    _ options: GatewayOptions, _ secrets: SecretBox, _ services: LoopServices,
    _ addressGuard: AddressGuard, _ attachments: AttachmentFiles
  ) -> ChannelOptions {
    let (settings, logger) = (options.settings, options.logger)
    return ChannelOptions(
      databaseURL: options.databaseURL, secrets: secrets, platforms: platforms(settings),
      dataPlatforms: ["line": settings.channels.lineDataURL], publicURL: settings.publicURL,
      files: attachments, addressGuard: addressGuard,
      timeoutMilliseconds: settings.webhooks.timeoutSeconds * 1_000,
      onChange: { session, workspace in services.changed(session: session, of: workspace) },
      onContent: { services.happened(WorkspaceNews(workspace: $0, kind: .received)) },
      report: { logger.warning("\($0)") })
  }

  private static func platforms(_ settings: Settings) -> [String: String] {
    ["line": settings.channels.lineAPIURL, "telegram": settings.channels.telegramAPIURL]
  }

  private static func use(_ settings: Settings, in options: inout APIOptions) {
    options.publicURL = settings.publicURL
    options.allowedOrigins = settings.allowedOrigins
    options.visitorTokenSeconds = settings.tokens.visitorSeconds
    options.operatorTokenSeconds = settings.tokens.operatorSeconds
    options.use(settings.limits)
  }

  /// Takes over changed settings, except those of the loops: their `LoopRules` come by mail.
  func use(_ settings: Settings, databaseURL: String) {
    admission.use(settings)
    api.use { GatewayContext.use(settings, in: &$0) }
    upkeep.use(Upkeep.Rules(settings, databaseURL: databaseURL))
    readers.use(url: databaseURL, seconds: settings.limits.expensiveSeconds)
    let milliseconds = settings.webhooks.timeoutSeconds * 1_000
    let schedule = RetrySchedule(
      firstMilliseconds: Int64(settings.webhooks.retryMilliseconds))
    deliveries.change {
      ($0.databaseURL, $0.timeoutMilliseconds) = (databaseURL, milliseconds)
      $0.schedule = schedule
    }
    push.change {
      ($0.databaseURL, $0.timeoutMilliseconds) = (databaseURL, milliseconds)
      $0.schedule = schedule
    }
    mail.change { $0.databaseURL = databaseURL }
    replies.change { $0.databaseURL = databaseURL }
    channels.change { ($0.databaseURL, $0.timeoutMilliseconds) = (databaseURL, milliseconds) }
    contents.change { ($0.databaseURL, $0.timeoutMilliseconds) = (databaseURL, milliseconds) }
  }
}

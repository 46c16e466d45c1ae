import Channels
public import Directory
public import Kernel
public import Logging
import Mail
import OpenSSL
import Postgres
import Primitives
public import Settings
public import Tokens
import WebPush
import Webhooks

/// The configuration of a gateway, complete before the first thread starts.
public struct GatewayOptions: Sendable {
  public var settings: Settings
  /// Of the program.
  public var version: String
  /// The last migration that the program knows.
  public var schema: String
  /// A connection string or URI of libpq.
  public var databaseURL: String
  /// The first key that signed the gateway's tokens, from the database. Others derive from it.
  public var signingSecret: [UInt8]
  public var tokens: TokenAuthority
  /// Replacements of `{{NAME}}` in the pages.
  public var pageValues: [String: String]
  public var logger: Logger
  /// Nil if no service manager waits for messages.
  public var service: ServiceManager?
  /// Sockets of the service manager, which replace those of the settings.
  public var inherited: [InheritedSocket]
  /// Reads the settings again; nil: a reload reads the certificates only.
  public var source: SettingsSource?

  public init(
    settings: Settings, version: String, schema: String, databaseURL: String,
    signingSecret: [UInt8], tokens: TokenAuthority, pageValues: [String: String], logger: Logger,
    service: ServiceManager? = nil, inherited: [InheritedSocket] = [],
    source: SettingsSource? = nil
  ) {
    self.settings = settings
    self.version = version
    self.schema = schema
    self.databaseURL = databaseURL
    self.signingSecret = signingSecret
    self.tokens = tokens
    self.pageValues = pageValues
    self.logger = logger
    self.service = service
    self.inherited = inherited
    self.source = source
  }

  var loopCount: Int { GatewayOptions.loopCount(settings) }

  static func loopCount(_ settings: Settings) -> Int {
    let wanted = settings.loops == 0 ? SystemProcessors.count : settings.loops
    return min(max(1, wanted), 64)
  }
}

/// The addresses on which a gateway listens, with the ports that the kernel chose for port 0.
public struct Listening: Sendable {
  public var plain: [ListenAddress] = []
  public var secure: [ListenAddress] = []
  public var admin: [ListenAddress] = []
}

/// The gateway could not start; `description` says why and what to do.
public struct GatewayFailure: Error, CustomStringConvertible {
  public var description: String
}

/// The gateway: one thread for each loop, threads for the watchdog, for webhooks, for push
/// messages and for e-mail, and the calling thread, which waits for signals.
public enum Gateway {
  /// Runs until SIGTERM or SIGINT and the end of the drain. Throws `LoopsStalled` if a loop does
  /// not end in time. Call it on the first thread before any other starts, since it blocks signals.
  ///
  /// - Parameter ready: called when the sockets listen.
  public static func run(
    _ options: GatewayOptions, ready: @Sendable (_ listening: Listening) -> Void
  ) async throws {
    let signals = try SignalInbox([.terminate, .interrupt, .hangUp])
    SignalDescriptor.ignoreBrokenPipes()
    ProcessMemory.limitFreeMemory()
    let certificates = try loadCertificates(options.settings)
    let context = try GatewayContext(fit(options), certificates: certificates)
    for warning in certificates?.first.warnings ?? [] { context.logger.warning("\(warning)") }
    let (listeners, addresses) = try listen(context, options.inherited)
    let loops = try LoopThreads.start(context, listeners)
    let watchdog = try Watchdog(context.pulses, context.logger, service: context.service)
    let watching = try Thread.spawn(name: "watchdog") {
      do throws(Errno) {
        try watchdog.run()
      } catch {
        preconditionFailure("the watchdog cannot wait: \(error)")
      }
    }
    let deliveries = context.deliveries
    let deliverer = try Thread.spawn(name: "webhooks") { deliveries.run() }
    let push = context.push
    let pusher = try Thread.spawn(name: "push") { push.run() }
    let mail = context.mail
    let mailer = try Thread.spawn(name: "mail") { mail.run() }
    let replies = context.replies
    let reader = try Thread.spawn(name: "mailbox") { replies.run() }
    let channels = context.channels
    let sender = try Thread.spawn(name: "channels") { channels.run() }
    let contents = context.contents
    let fetcher = try Thread.spawn(name: "contents") { contents.run() }
    context.logger.info(
      "listening",
      metadata: [
        "addresses": .array(addresses.plain.map { .string("\($0)") }),
        "tls": .array(addresses.secure.map { .string("\($0)") }),
        "admin": .array(addresses.admin.map { .string("\($0)") }),
        "loops": .stringConvertible(context.loopCount),
      ])
    ready(addresses)
    context.service?.send(.ready, .status("serving"))
    var reload = SettingsReload(context, options.source ?? .unchanged(options.settings))
    let deadline = try await waitForEnd(signals, context, watchdog, &reload)
    try waitForLoops(
      context, watchdog,
      by: deadline.advanced(byMilliseconds: Watchdog.loopMarginMilliseconds))
    loops.join()
    try sayFarewell(context, at: reload.databaseURL)
    context.readers.stop()
    context.upkeep.stop()
    deliveries.stop()
    push.stop()
    mail.stop()
    replies.stop()
    channels.stop()
    contents.stop()
    end(deliverer, by: deadline) { deliveries.hasEnded }
    end(pusher, by: deadline) { push.hasEnded }
    end(mailer, by: deadline) { mail.hasEnded }
    end(reader, by: deadline) { replies.hasEnded }
    end(sender, by: deadline) { channels.hasEnded }
    end(fetcher, by: deadline) { contents.hasEnded }
    watchdog.stop()
    watching.join()
    context.logger.info("stopped")
  }

  /// The keys of the database in the form that verifies, without those that are too short to sign.
  /// Tokens of the first key have no `kid`, as before keys were rotated.
  public static func tokenKeys(_ keys: [SigningKey]) -> [TokenKey] {
    keys.compactMap { key in
      guard key.secret.count >= TokenAuthority.secretBytesMin else { return nil }
      return TokenKey(
        id: key.id == SigningKey.firstID ? nil : key.id, secret: key.secret,
        startsAt: key.startsAt, endsAt: key.endsAt)
    }
  }

  /// Waits until all loops have ended. If a loop is stalled, the watchdog stays armed.
  private static func waitForLoops(
    _ context: GatewayContext, _ watchdog: Watchdog, by limit: Instant
  ) throws {
    while !context.metrics.hasEnded {
      guard SystemClock.now() < limit else {
        context.logger.error(
          "stopped without loops that did not end within the drain time",
          metadata: watchdog.metadata())
        throw LoopsStalled()
      }
      Thread.sleep(milliseconds: 20)
    }
  }

  /// Stores that this gateway has ended, for `migrate down` and the other gateways. While
  /// PostgreSQL does not answer, the thread is abandoned, and the row grows old.
  private static func sayFarewell(_ context: GatewayContext, at databaseURL: String) throws {
    let isOver = Semaphore()
    _ = try Thread.spawn(name: "farewell") {
      do throws(QueryFailure) {
        try BlockingConnection(databaseURL).run(context.peers.farewell())
      } catch {
        context.logger.warning(
          "the end was not stored; this gateway counts as running for a few seconds: \(error)")
      }
      isOver.signal()
    }
    _ = isOver.wait(milliseconds: farewellMilliseconds)
  }

  private static let farewellMilliseconds: Int64 = 1_000

  /// Waits for the worker of webhooks, push messages, e-mail, its mailbox, channels or their
  /// contents, which stops since the drain began. While PostgreSQL does not answer it cannot end:
  /// its thread is then abandoned, and its leases expire.
  private static func end(
    _ worker: consuming Thread, by deadline: Instant, _ hasEnded: () -> Bool
  ) {
    let limit = min(deadline, SystemClock.now().advanced(byMilliseconds: 3_000))
    while !hasEnded() {
      guard SystemClock.now() < limit else { return }
      Thread.sleep(milliseconds: 20)
    }
    worker.join()
  }

  /// Descriptors besides those of clients: PostgreSQL, webhooks, push services, channels and the
  /// log; `ExpensiveReaders`;
  /// the sockets of `admin_listen`; and each loop's epoll, mailbox, listeners and connections to
  /// PostgreSQL.
  public static func ownDescriptors(_ settings: Settings) -> Int {
    230 + settings.limits.expensiveReaders + 8 * GatewayOptions.loopCount(settings)
      + (settings.adminListen.isEmpty ? 0 : Admission.adminSocketsMax)
  }

  /// Connections to PostgreSQL: a writer and a reader of each loop, `ExpensiveReaders`, one of the
  /// webhooks, one of push messages, two of channels, one of e-mail and one of its mailbox.
  public static func databaseConnections(_ settings: Settings) -> Int {
    2 * GatewayOptions.loopCount(settings) + settings.limits.expensiveReaders + 4
      + (settings.mail.smtpURL == nil ? 0 : 1) + (settings.mail.imapURL == nil ? 0 : 1)
      + (settings.maintenance.auditDays > 0 ? 1 : 0)
  }

  /// The number of loops of these settings on this machine.
  public static func loopCount(_ settings: Settings) -> Int { GatewayOptions.loopCount(settings) }

  /// The gateway does not start with fewer connections.
  public static let connectionsLeast = 16

  /// Lowers the limit of connections to the available descriptors: a refusal with 503 is better
  /// than clients that wait in the kernel's queue.
  private static func fit(_ options: GatewayOptions) -> GatewayOptions {
    var fitting = options
    fitting.settings.limits.connections = connections(
      allowedBy: options.settings, of: options.settings)
    for text in warning(about: fitting.settings.limits, wanted: options.settings.limits) {
      options.logger.warning("\(text)")
    }
    return fitting
  }

  /// A warning if the system allows fewer connections than wanted.
  static func warning(about limits: LimitSettings, wanted: LimitSettings) -> [String] {
    guard limits.connections < wanted.connections else { return [] }
    return [
      """
      at most \(limits.connections) connections instead of \(wanted.connections): the system \
      allows no more descriptors. Raise that with ulimit -n, or LimitNOFILE in the systemd unit; \
      or lower limits.connections.
      """
    ]
  }

  /// The connections that these settings want, or as many as the system allows.
  static func connections(allowedBy running: Settings, of wanted: Settings) -> Int {
    let most = max(connectionsLeast, DescriptorLimit.raise() - ownDescriptors(running))
    return min(most, wanted.limits.connections)
  }

  private static func checkDescriptors(_ settings: Settings) throws(GatewayFailure) {
    let loops = GatewayOptions.loopCount(settings)
    let connections = min(settings.limits.connections, connectionsLeast)
    let needed = ownDescriptors(settings) + connections
    let allowed = DescriptorLimit.raise()
    guard allowed < needed else { return }
    throw GatewayFailure(
      description:
        "the system allows \(allowed) open descriptors, and \(loops) loops with \(connections) "
        + "connections need \(needed). Raise that with ulimit -n, or LimitNOFILE in the systemd "
        + "unit.")
  }

  /// Checks the certificates and the limit of descriptors before anything starts.
  public static func check(_ settings: Settings) throws(GatewayFailure) {
    _ = try loadCertificates(settings)
    try checkDescriptors(settings)
  }

  private static func loadCertificates(
    _ settings: Settings
  ) throws(GatewayFailure) -> Certificates? {
    do throws(TLSLoadFailure) {
      return try Certificates(settings)
    } catch {
      throw GatewayFailure(description: "TLS cannot start: \(error)")
    }
  }

  /// Handles SIGHUP, and the requests of `chirrup reload`.
  private static func reload(
    _ context: GatewayContext, _ settings: inout SettingsReload, isSignal: Bool,
    unless isStopping: () -> Bool
  ) async {
    let requests = context.reloads.take()
    let changes = isSignal || requests.contains { !$0.isCheck }
    if changes { context.service?.send(.reloading(at: SystemClock.now())) }
    if isSignal { _ = await settings.run(unless: isStopping) }
    for request in requests {
      let report = await settings.run(isCheck: request.isCheck, unless: isStopping)
      request.continuation.resume(returning: report)
    }
    if changes { context.service?.send(.ready) }
  }

  /// Handles signals until the loops have ended or the drain time is over. The first SIGTERM or
  /// SIGINT drains; a second one ends the gateway at once.
  ///
  /// - Returns: the end of the drain time.
  private static func waitForEnd(
    _ signals: SignalInbox, _ context: GatewayContext, _ watchdog: Watchdog,
    _ settings: inout SettingsReload
  ) async throws -> Instant {
    let epoll = try Epoll()
    try epoll.add(rawValue: signals.rawValue, .read, datum: 0)
    try epoll.add(rawValue: context.reloads.rawDescriptor, .read, datum: 1)
    defer { context.reloads.close() }
    var events = Events(capacity: 2)
    var deadline = Instant.never
    var isDraining = false
    let rotation = TLSTicketKeys.rotationSeconds * 1000
    var nextRotation = SystemClock.now().advanced(byMilliseconds: rotation)
    while true {
      // Polls only during a drain; otherwise the thread sleeps until the next rotation of keys.
      let now = SystemClock.now()
      var left =
        isDraining
        ? min(100, deadline.milliseconds(since: now)) : nextRotation.milliseconds(since: now)
      // A reload has taken the signal while it waited for PostgreSQL.
      if signals.hasKept { left = 0 }
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(max(0, min(left, 3_600_000))))
      var hasHungUp = false
      while let signal = signals.next() {
        switch signal {
        case .terminate, .interrupt:
          if isDraining {
            let now = SystemClock.now()
            watchdog.arm(at: now.advanced(byMilliseconds: Watchdog.exitMarginMilliseconds))
            for mailbox in context.mailboxes { mailbox.post(.stop) }
            return now
          }
          isDraining = true
          context.deliveries.stop()
          context.push.stop()
          context.mail.stop()
          context.replies.stop()
          context.channels.stop()
          context.contents.stop()
          let milliseconds = Int64(settings.running.drainSeconds) * 1000
          deadline = SystemClock.now().advanced(byMilliseconds: milliseconds)
          watchdog.arm(at: deadline.advanced(byMilliseconds: Watchdog.exitMarginMilliseconds))
          context.logger.info("draining", metadata: ["signal": "\(signal)"])
          context.service?.send(.stopping, .status("draining"))
          for mailbox in context.mailboxes { mailbox.post(.drain(milliseconds: milliseconds)) }
        case .hangUp: hasHungUp = true
        default: continue
        }
      }
      if isDraining {
        context.reloads.close()
      } else {
        await reload(context, &settings, isSignal: hasHungUp, unless: signals.hasEnd)
      }
      if SystemClock.now() >= nextRotation {
        nextRotation = SystemClock.now().advanced(byMilliseconds: rotation)
        context.certificates?.tickets.rotate()
      }
      if isDraining, context.metrics.hasEnded || SystemClock.now() >= deadline { return deadline }
    }
  }
}

/// The threads of the loops.
struct LoopThreads {
  /// `Thread` is not copyable, so an array holds it through a class.
  private final class Handle {
    private var thread: Thread?

    init(_ thread: consuming Thread) { self.thread = consume thread }

    func join() { thread.take()?.join() }
  }

  private var handles: [Handle] = []

  static func start(
    _ context: GatewayContext, _ listeners: [[Listener]]
  ) throws(Errno) -> LoopThreads {
    var threads = LoopThreads()
    for index in 0..<context.loopCount {
      let own = listeners[index]
      let thread = try Thread.spawn(name: "loop-\(index)") {
        do throws(Errno) {
          var loop = try EventLoop.make(index: index, context: context, listeners: own)
          loop.run()
        } catch {
          // The process cannot serve without one of its loops.
          preconditionFailure("loop \(index) cannot start: \(error)")
        }
      }
      threads.handles.append(Handle(thread))
    }
    return threads
  }

  func join() { for handle in handles { handle.join() } }
}

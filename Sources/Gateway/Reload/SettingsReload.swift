/// Reads the configuration again (SIGHUP, `chirrup reload`) and takes it over, or refuses it as a
/// whole. Runs on the thread that handles signals, so two reloads never overlap.
import Kernel
import Logging
import OpenSSL
import Postgres
import Primitives
import REST
public import Settings

/// The parts of a reload that belong to the command line.
public struct SettingsSource: Sendable {
  /// The settings as they were loaded at the start, before `serve` changed any.
  public var loaded: Settings
  /// Reads and checks all sources as at the start.
  public var load: @Sendable () async throws -> (settings: Settings, warnings: [String])
  /// Throws if a gateway with these settings could not use its database. May block its thread.
  public var checkDatabase: @Sendable (Settings) throws -> Void
  /// Takes over what the gateway does not own: the log's level.
  public var apply: @Sendable (Settings) -> Void

  public init(
    loaded: Settings,
    load: @escaping @Sendable () async throws -> (settings: Settings, warnings: [String]),
    checkDatabase: @escaping @Sendable (Settings) throws -> Void,
    apply: @escaping @Sendable (Settings) -> Void
  ) {
    self.loaded = loaded
    self.load = load
    self.checkDatabase = checkDatabase
    self.apply = apply
  }
}

struct SettingsReload {
  private let context: GatewayContext
  private let source: SettingsSource
  private let trial: DatabaseTrial
  /// As the configuration had them, with the values of the start for those that wait for a restart.
  private var loaded: Settings
  /// As this process uses them: with inherited sockets, the private PostgreSQL, and no more
  /// connections than the system allows.
  private(set) var running: Settings
  private(set) var databaseURL: String

  /// A loop has this long to take over its rules; one that is stalled does it later.
  private static let confirmMilliseconds: Int64 = 3_000

  init(_ context: GatewayContext, _ source: SettingsSource, trial: DatabaseTrial = .init()) {
    self.context = context
    self.source = source
    self.trial = trial
    loaded = source.loaded
    running = context.settings
    databaseURL = context.rules.databaseURL
  }

  /// - Parameters:
  ///   - isCheck: only report; change nothing.
  ///   - isStopping: whether the gateway is to end, which ends the wait for a database.
  mutating func run(
    isCheck: Bool = false, unless isStopping: () -> Bool = { false }
  ) async -> ReloadReport {
    var report = ReloadReport()
    do {
      let (new, warnings) = try await source.load()
      report.warnings = warnings
      var next = self
      let changes = next.prepare(new)
      report.applied = changes.applied.map(ReloadReport.Change.init)
      report.waiting = changes.waiting.map(ReloadReport.Change.init)
      report.warnings += Gateway.warning(about: next.running.limits, wanted: new.limits)
      let tls = try context.certificates?.reload(next.running)
      report.warnings += tls?.warnings ?? []
      try tryDatabase(of: next, new, unless: isStopping)
      guard !isCheck else { return report }
      // From here on nothing is refused.
      report.warnings += next.apply(tls)
      self = next
    } catch let fault as SettingsFault {
      report.refusal = fault.describe("nothing was changed")
    } catch {
      report.refusal = "The new settings cannot be used, so nothing was changed: \(error)"
    }
    if !isCheck { log(report) }
    return report
  }

  private func tryDatabase(
    of next: SettingsReload, _ new: Settings, unless isStopping: () -> Bool
  ) throws {
    let isOther = next.databaseURL != databaseURL
    let maintenance = next.running.maintenance
    let isChanged = maintenance != running.maintenance
    guard isOther || isChanged else { return }
    let check = source.checkDatabase
    let ownerURL = Upkeep.Rules(next.running, databaseURL: next.databaseURL).ownerURL
    try trial.run(unless: isStopping) {
      if isOther { try check(new) }
      guard isChanged else { return }
      let fault = try MaintenanceFault.find(maintenance, owner: BlockingConnection(ownerURL))
      if let fault { throw fault }
    }
  }

  private mutating func prepare(_ new: Settings) -> SettingsChanges {
    let changes = loaded.takeOver(new)
    for change in changes.applied { running.take(change.key, from: new) }
    running.limits.connections = Gateway.connections(allowedBy: running, of: new)
    if changes.applied.contains(where: { $0.key == .databaseURL }), let url = new.databaseURL {
      databaseURL = url
    }
    return changes
  }

  /// - Returns: warnings.
  private func apply(_ tls: TLSContext?) -> [String] {
    source.apply(running)
    context.use(running, databaseURL: databaseURL)
    let rules = LoopRules(
      running, databaseURL: databaseURL,
      quotas: context.rules.quotas.changed(to: running.limits.quotas))
    if let tls { use(tls) }
    let countdown = Countdown(context.loopCount)
    for mailbox in context.mailboxes {
      if let tls { mailbox.post(.certificates(tls)) }
      mailbox.post(.rules(rules, countdown))
    }
    guard !isConfirmed(countdown) else { return [] }
    return ["an event loop is stalled; it takes over the settings when it continues"]
  }

  /// A renewed certificate has the path of the old one, so no setting changes: without its own line
  /// the log would not show whether the renewal has arrived.
  private func use(_ tls: TLSContext) {
    let before = context.certificates?.expiries ?? []
    context.certificates?.use(tls)
    for new in tls.expiries where !before.contains(where: { $0 == new }) {
      context.logger.notice(
        "a certificate was replaced",
        metadata: [
          "file": .string(new.file), "expires": "\(WallTime(microseconds: new.at * 1_000_000))",
        ])
    }
  }

  private func isConfirmed(_ countdown: Countdown) -> Bool {
    let limit = SystemClock.now().advanced(byMilliseconds: SettingsReload.confirmMilliseconds)
    guard let epoll = try? Epoll() else { return countdown.isOver }
    var events = Events(capacity: 1)
    while !countdown.isOver, SystemClock.now() < limit {
      do throws(Errno) {
        try epoll.wait(into: &events, timeoutMilliseconds: 2)
      } catch {
        return countdown.isOver
      }
    }
    return countdown.isOver
  }

  private func log(_ report: ReloadReport) {
    if let refusal = report.refusal { return context.logger.error("\(refusal)") }
    for warning in report.warnings { context.logger.warning("\(warning)") }
    for change in report.waiting {
      context.logger.warning("a changed setting waits for a restart", metadata: change.metadata)
    }
    for change in report.applied {
      context.logger.notice("a setting was changed", metadata: change.metadata)
    }
    context.logger.notice(
      "settings reloaded",
      metadata: [
        "applied": .stringConvertible(report.applied.count),
        "waiting": .stringConvertible(report.waiting.count),
      ])
  }
}

extension ReloadReport.Change {
  fileprivate init(_ change: SettingChange) {
    self.init(setting: change.key.rawValue, before: change.before, after: change.after)
  }

  fileprivate var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = ["setting": .string(setting)]
    metadata["before"] = before.map { .string($0) }
    metadata["after"] = after.map { .string($0) }
    return metadata
  }
}

extension SettingsSource {
  /// No configuration: a reload reads the certificates only.
  static func unchanged(_ settings: Settings) -> SettingsSource {
    SettingsSource(
      loaded: settings, load: { (settings, []) }, checkDatabase: { _ in }, apply: { _ in })
  }
}

/// The limits of the settings, as the engine, the API and the settings page use them.
import Primitives
import REST
import Settings
import Synchronization

extension SharedQuotas {
  /// The quotas of a process. Its lock is taken for up to 64 messages of a sender, never for each.
  init(_ limits: QuotaTable.Configuration, loopCount: Int) {
    let ledger = LockedQuotaLedger(limits, loopCount: loopCount)
    self.init(limits) { body in ledger.value.withLock { body(&$0) } }
  }
}

private final class LockedQuotaLedger: Sendable {
  let value: Mutex<QuotaLedger>

  init(_ limits: QuotaTable.Configuration, loopCount: Int) {
    value = Mutex(
      QuotaLedger(
        limits, loopCount: loopCount, accountsMax: QuotaTable.entriesMaxDefault * loopCount))
  }
}

extension LimitSettings {
  /// The quotas of visitors, which all loops count together.
  var quotas: QuotaTable.Configuration {
    var quotas = QuotaTable.Configuration()
    quotas.visitor = QuotaTable.Limits(
      messagesPerMinute: sendsPerVisitor, kibibytesPerDay: storedMebibytesPerVisitor << 10)
    quotas.address = QuotaTable.Limits(
      messagesPerMinute: sendsPerAddress, kibibytesPerDay: storedMebibytesPerAddress << 10)
    quotas.workspace = QuotaTable.Limits(
      messagesPerMinute: sendsPerWorkspace, kibibytesPerDay: storedMebibytesPerWorkspace << 10)
    return quotas
  }
  /// The limits that concern the members and visitors of a workspace.
  var visible: [APIOptions.VisibleLimit] {
    let (minute, day) = (60, 86_400)
    let all: [(SettingKey, Int, Int?)] = [
      (.sendsPerVisitor, sendsPerVisitor, minute), (.sendsPerAddress, sendsPerAddress, minute),
      (.sendsPerWorkspace, sendsPerWorkspace, minute),
      (.storedMebibytesPerVisitor, storedMebibytesPerVisitor, day),
      (.storedMebibytesPerAddress, storedMebibytesPerAddress, day),
      (.storedMebibytesPerWorkspace, storedMebibytesPerWorkspace, day),
      (.conversationsPerVisitor, conversationsPerVisitor, nil),
      (.newVisitorsPerWorkspace, newVisitorsPerWorkspace, minute),
      (.tokensPerAddress, tokensPerAddress, minute),
      (.connectionsPerVisitor, connectionsPerVisitor, nil),
      (.connectionsPerAddress, connectionsPerAddress, nil),
      (.connectionsPerWorkspace, connectionsPerWorkspace, nil),
      (.requestsPerMember, requestsPerMember, minute), (.requestsPerKey, requestsPerKey, minute),
      (.requestsPerVisitor, requestsPerVisitor, minute),
      (.requestsPerWorkspace, requestsPerWorkspace, minute),
      (.expensivePerWorkspace, expensivePerWorkspace, nil),
    ]
    return all.map { key, amount, seconds in
      APIOptions.VisibleLimit(
        name: String(key.rawValue.split(separator: ".").last ?? ""),
        amount: amount == 0 ? nil : amount, seconds: seconds)
    }
  }
}

extension APIOptions {
  /// Each rate allows as many requests at once as in a minute.
  mutating func use(_ limits: LimitSettings) {
    func rate(_ requests: Int) -> Rate { Rate(burst: requests, perMinute: requests) }
    rates.widgetTokens = rate(limits.tokensPerAddress)
    rates.newVisitors = rate(limits.newVisitorsPerWorkspace)
    rates.requestsOfMember = rate(limits.requestsPerMember)
    rates.requestsOfKey = rate(limits.requestsPerKey)
    rates.requestsOfVisitor = rate(limits.requestsPerVisitor)
    rates.requestsOfWorkspace = rate(limits.requestsPerWorkspace)
    conversationsPerVisitor =
      limits.conversationsPerVisitor == 0 ? .max : Int64(limits.conversationsPerVisitor)
    expensivePerWorkspace = limits.expensivePerWorkspace
    self.limits = limits.visible
  }
}

/// The limits of the settings, as the engine, the API and the settings page use them.
import Primitives
import REST
import Settings

extension LimitSettings {
  /// The quotas that one loop counts. A visitor's connections are on the loop of the conversation;
  /// those of an address and a workspace are spread over all loops, each of which has its part.
  func quotas(loopCount: Int) -> QuotaTable.Configuration {
    func part(_ whole: Int, _ visitor: Int) -> Int {
      whole == 0 ? 0 : max(visitor, (whole + loopCount - 1) / loopCount)
    }
    func limits(messages: Int, mebibytes: Int, isWhole: Bool = false) -> QuotaTable.Limits {
      QuotaTable.Limits(
        messagesPerMinute: isWhole ? messages : part(messages, sendsPerVisitor),
        kibibytesPerDay: (isWhole ? mebibytes : part(mebibytes, storedMebibytesPerVisitor)) << 10)
    }
    var quotas = QuotaTable.Configuration()
    quotas.visitor = limits(
      messages: sendsPerVisitor, mebibytes: storedMebibytesPerVisitor, isWhole: true)
    quotas.address = limits(messages: sendsPerAddress, mebibytes: storedMebibytesPerAddress)
    quotas.workspace = limits(messages: sendsPerWorkspace, mebibytes: storedMebibytesPerWorkspace)
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

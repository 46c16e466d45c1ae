/// How often widgets may ask for tokens and for their configuration, and how many new visitors a
/// workspace may get.
struct WidgetLimits: ~Copyable, Sendable {
  let tokens: RateLimiter
  let configs: RateLimiter
  let newVisitors: RateLimiter

  init(_ rates: APIOptions.Rates) {
    tokens = RateLimiter(rates.widgetTokens, limit: "address")
    configs = RateLimiter(rates.widgetConfigs, limit: "address")
    newVisitors = RateLimiter(rates.newVisitors, limit: "workspace")
  }

  /// The rate of configurations is no setting.
  func use(_ rates: APIOptions.Rates) {
    tokens.use(rates.widgetTokens)
    newVisitors.use(rates.newVisitors)
  }
}

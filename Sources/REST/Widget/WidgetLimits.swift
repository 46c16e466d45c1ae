/// How often widgets may ask for tokens and for their configuration, and how many new visitors a
/// workspace may get.
struct WidgetLimits: ~Copyable, Sendable {
  let tokens: RateLimiter
  let configs: RateLimiter
  let newVisitors: RateLimiter
  let beacons: RateLimiter
  let beaconsOfWorkspace: RateLimiter
  /// Each proactive message that a browser shows may add a row.
  let showings: RateLimiter
  let uploads: RateLimiter
  /// Wrong signatures of webhooks of channels.
  let signatures: RateLimiter

  init(_ rates: APIOptions.Rates) {
    tokens = RateLimiter(rates.widgetTokens, limit: "address")
    configs = RateLimiter(rates.widgetConfigs, limit: "address")
    newVisitors = RateLimiter(rates.newVisitors, limit: "workspace")
    beacons = RateLimiter(rates.beacons, limit: "address")
    beaconsOfWorkspace = RateLimiter(rates.beaconsOfWorkspace, limit: "workspace")
    showings = RateLimiter(rates.showings, limit: "workspace")
    uploads = RateLimiter(rates.uploads, limit: "address")
    signatures = RateLimiter(rates.signatures, limit: "address")
  }

  /// The rates of configurations and of beacons are no settings.
  func use(_ rates: APIOptions.Rates) {
    tokens.use(rates.widgetTokens)
    newVisitors.use(rates.newVisitors)
  }
}

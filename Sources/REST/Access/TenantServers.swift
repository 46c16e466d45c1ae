import OpenID

/// The requests to servers that tenants have chosen: each kind has threads of its own. And counts
/// of what such servers send by themselves.
struct TenantServers: Sendable {
  let providers: ProviderThreads
  let drafts: DraftRuns
  let channels = ChannelCounts()

  init(_ options: APIOptions) {
    providers = ProviderThreads(ProviderClient(options.webhookGuard))
    drafts = DraftRuns(options.rates)
  }
}

import OpenID

/// The requests to servers that tenants have chosen: each kind has threads of its own.
struct TenantServers: Sendable {
  let providers: ProviderThreads
  let drafts: DraftRuns

  init(_ options: APIOptions) {
    providers = ProviderThreads(ProviderClient(options.webhookGuard))
    drafts = DraftRuns(options.rates)
  }
}

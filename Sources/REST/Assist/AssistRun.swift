/// One request to the endpoint of a workspace. Its tokens are reserved before and settled
/// afterwards, and it is measured.
///
/// The caller has entered `DraftRuns`, and leaves it after the run.
import Assist
import Directory
import Kernel
import Primitives

struct AssistRun: Sendable {
  private let api: API
  private let kind: AssistMetrics.Kind
  private let workspace: Identifier
  private let request: CompletionRequest
  private let reserved: Int64
  /// On which the tokens count.
  private let day: String

  /// The end of a run.
  struct End: Sendable {
    var result: CompletionResult
    var tokens: Int64
    /// From the start to the first text; nil: there was none.
    var firstTextMilliseconds: Int64?
  }

  /// The address and the key. They were checked when they were saved, by a gateway with other rules
  /// perhaps.
  static func access(
    _ settings: AssistSettings, _ options: APIOptions
  ) throws(Problem) -> (AssistEndpoint, key: String) {
    let endpoint: AssistEndpoint
    do throws(AssistEndpoint.Fault) {
      endpoint = try AssistEndpoint(settings.endpoint, under: options.webhookGuard)
    } catch {
      throw .assistAddressRefused
    }
    guard let sealed = settings.key else { return (endpoint, "") }
    let place = AssistSettings.place(in: settings.workspace, endpoint: settings.endpoint)
    guard let key = options.secrets.open(sealed, place: place) else { throw .assistKeyLost }
    return (endpoint, String(decoding: key, as: UTF8.self))
  }

  /// Reserves the most tokens that the request can cost.
  init(
    _ kind: AssistMetrics.Kind, _ prompt: AssistPrompt, _ settings: AssistSettings,
    _ access: (AssistEndpoint, key: String), milliseconds: Int64, api: API, now: WallTime
  ) async throws(Problem) {
    (self.api, self.kind, workspace) = (api, kind, settings.workspace)
    request = CompletionRequest(
      endpoint: access.0, addressGuard: api.options.webhookGuard, model: settings.model,
      key: access.key,
      tokenLimit: CompletionRequest.TokenLimit(rawValue: settings.tokenLimit)
        ?? .maxTokens,
      prompt: prompt, milliseconds: milliseconds)
    reserved = prompt.tokensMax
    let day = try await api.database.run(
      AssistUsage.reserve(
        reserved, perDay: settings.tokensPerDay, perMonth: settings.tokensPerMonth,
        in: settings.workspace))
    guard let day else {
      let spent = try await api.database.run(AssistUsage.spent(in: settings.workspace))
      if spent.today + reserved > settings.tokensPerDay {
        throw .tokensSpent(spent.today, of: settings.tokensPerDay, in: "day", now: now)
      }
      throw .tokensSpent(spent.month, of: settings.tokensPerMonth, in: "month", now: now)
    }
    self.day = day
  }

  /// Sends the request. `take` gets the text in pieces, and nil as a sign of life, at least every
  /// two seconds; false ends the run.
  func run(since start: Instant, _ take: (String?) -> Bool) async -> End {
    let feed = AssistFeed()
    api.servers.drafts.start(request, into: feed, since: start)
    var firstText: Int64?
    while true {
      let event = await feed.next()
      api.options.onResume()
      switch event {
      case .text(let text):
        if firstText == nil {
          let now = SystemClock.now()
          firstText = now.milliseconds(since: start)
          api.servers.drafts.measure { $0.begin(now.nanoseconds - start.nanoseconds) }
        }
        if !take(text) { feed.cancel() }
      case .idle: if !take(nil) { feed.cancel() }
      case .ended(let result):
        return End(
          result: result, tokens: await settle(result), firstTextMilliseconds: firstText)
      }
    }
  }

  private func settle(_ result: CompletionResult) async -> Int64 {
    let spent =
      result.usage?.total
      ?? (result.wasSent ? request.prompt.tokens(textByteCount: result.textByteCount) : 0)
    api.servers.drafts.measure { $0.end(kind, result, tokens: spent) }
    do throws(Problem) {
      try await api.database.run(
        AssistUsage.settle(reserved: reserved, spent: spent, day: day, in: workspace))
    } catch {
      // The reserved tokens stay counted, which is more than was spent.
      api.options.report("the tokens of a draft could not be counted: \(error.detail)")
    }
    return spent
  }
}

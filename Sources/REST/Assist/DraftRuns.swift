/// Limits the drafts that endpoints write at the same time, and runs their requests on threads of
/// their own: they wait for servers that tenants have chosen.
import Assist
import Directory
import Kernel
import Primitives
import Synchronization

final class DraftRuns: Sendable {
  /// Requests of all workspaces that run, and that wait for a thread.
  static let threads = 8
  static let waitingMax = 16
  /// Running and waiting requests of one workspace, and of one owner: an operator, or the automatic
  /// answers of a workspace, which count as the owner with its id.
  static let perWorkspace = 4
  static let perOwner = 2

  private struct Counts {
    var all = 0
    var workspaces: [Identifier: Int] = [:]
    var owners: [Identifier: Int] = [:]
    var rates: RateTable<Identifier>
  }

  private let workers = WorkerThreads(name: "drafts", threads: threads, waitingMax: waitingMax)
  private let counts: Mutex<Counts>
  private let figures = Mutex(AssistMetrics())

  var metrics: AssistMetrics { figures.withLock { $0 } }

  init(_ rates: APIOptions.Rates) {
    counts = Mutex(
      Counts(
        rates: RateTable(burst: rates.drafts.burst, perMinute: rates.drafts.perMinute)))
  }

  /// Counts a request, until `leave`.
  func enter(
    _ owner: Identifier, of workspace: Identifier, now: WallTime
  ) throws(Problem) {
    let problem: Problem? = counts.withLock { counts in
      let ofOwner = counts.owners[owner] ?? 0
      let ofWorkspace = counts.workspaces[workspace] ?? 0
      guard ofOwner < DraftRuns.perOwner else { return .tooManyDrafts("you") }
      guard ofWorkspace < DraftRuns.perWorkspace else { return .tooManyDrafts("your workspace") }
      guard counts.all < DraftRuns.threads + DraftRuns.waitingMax else { return .draftsBusy }
      let wait = counts.rates.take(owner, atMilliseconds: now.microseconds / 1_000)
      guard wait == 0 else { return .rateLimited(afterSeconds: wait, limit: "member") }
      counts.owners[owner] = ofOwner + 1
      counts.workspaces[workspace] = ofWorkspace + 1
      counts.all += 1
      return nil
    }
    if let problem { throw problem }
  }

  func leave(_ owner: Identifier, of workspace: Identifier) {
    counts.withLock { counts in
      counts.all -= 1
      DraftRuns.decrease(&counts.owners, owner)
      DraftRuns.decrease(&counts.workspaces, workspace)
    }
  }

  private static func decrease(_ table: inout [Identifier: Int], _ key: Identifier) {
    let count = table[key] ?? 0
    table[key] = count > 1 ? count - 1 : nil
  }

  /// Starts the request, whose answer and end come by `feed`.
  func start(_ request: CompletionRequest, into feed: AssistFeed, since start: Instant) {
    if !workers.start({ request.run(into: feed, since: start) }) { feed.end(.notSent) }
  }

  func measure(_ change: (inout AssistMetrics) -> Void) { figures.withLock { change(&$0) } }
}

extension Problem {
  static func tooManyDrafts(_ owner: String) -> Problem {
    Problem(
      status: 429, type: "rate_limited", title: "Too many requests",
      detail: "Too many drafts for \(owner) are being written. Wait for them, or stop one.",
      limit: "drafts"
    ).retry(afterSeconds: 5)
  }

  static let draftsBusy = Problem(
    status: 503, type: "too_busy", title: "Too busy",
    detail: "Too many drafts are being written. Try again in a few seconds.",
    headers: [("Retry-After", "5")])

  static let assistOff = Problem(
    status: 409, type: "assist_off", title: "Assist is off",
    detail: "Your workspace has not turned this on. An administrator can under Settings, Assist.")

  static let assistAddressRefused = Problem(
    status: 409, type: "assist_address_refused", title: "Address refused",
    detail: CompletionFault.addressRefused.sentence)

  static let assistKeyLost = Problem(
    status: 409, type: "assist_key_lost", title: "Key not readable",
    detail: "The API key of the assist endpoint was encrypted with a key that this gateway does "
      + "not have any longer. Ask an administrator to enter it again under Settings, Assist.")

  static func tokensSpent(
    _ spent: Int64, of limit: Int64, in period: String, now: WallTime
  ) -> Problem {
    // Until the next day, in UTC; a month may take longer.
    let seconds = 86_400 - Int(now.microseconds / 1_000_000 % 86_400)
    return Problem(
      status: 429, type: "assist_limit_reached", title: "Limit reached",
      detail: "\(spent) of the \(limit) tokens that your workspace may spend on drafts a \(period) "
        + "are spent or reserved, and this one could exceed the limit. Write it yourself, or ask "
        + "an administrator to raise the limit under Settings, Assist.",
      limit: "assist_tokens_per_\(period)"
    ).retry(afterSeconds: seconds)
  }

  static func completion(_ fault: CompletionFault) -> Problem {
    Problem(
      status: fault.status, type: fault.name.rawValue, title: "No complete draft",
      detail: fault.sentence)
  }
}

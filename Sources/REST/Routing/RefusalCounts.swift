/// Counts the responses 429 for the metrics, by the exceeded limit and the class of the route. Both
/// are closed lists, so that no request adds a series.
import Synchronization

/// The metrics of the REST API.
public struct APIMetrics: Sendable {
  public struct Refused: Sendable {
    /// The limit, as the member `limit` of the response.
    public var limit: String
    /// The callers of the route: `widget`, `visitor`, `open` or `member`.
    public var routes: String
    public var count: UInt64
  }

  /// Every pair, also those without a refusal.
  public var refused: [Refused] = []
  /// Requests with expensive statements, see `ExpensiveCalls`.
  public var expensiveRunning = 0
  public var expensiveWaiting = 0
  /// Those that had to wait, since the start.
  public var expensiveWaited: UInt64 = 0
  public var assist = AssistMetrics()
  public var channels = ChannelFigures()

  public init() {}
}

final class RefusalCounts: Sendable {
  enum Limit: String, CaseIterable {
    case key, member, visitor, workspace, address, account, expensive, conversations, parts, uploads
    case idempotencyKeys = "idempotency_keys"
    case other
  }

  enum RouteClass: String, CaseIterable {
    case widget, visitor, open, member

    init(_ route: Route) {
      switch route.handler {
      case .forWidgets: self = .widget
      case .forVisitors: self = .visitor
      case .forAnybody: self = .open
      case .forMembers: self = .member
      }
    }
  }

  private struct Pair: Hashable {
    var limit: Limit
    var routes: RouteClass
  }

  private let counts = Mutex<[Pair: UInt64]>([:])

  /// Counts a 429; other problems do not count.
  func note(_ problem: Problem, _ route: Route) {
    guard problem.status == 429 else { return }
    let limit = problem.limit.flatMap { Limit(rawValue: $0) } ?? .other
    let pair = Pair(limit: limit, routes: RouteClass(route))
    counts.withLock { $0[pair, default: 0] += 1 }
  }

  var all: [APIMetrics.Refused] {
    let counts = counts.withLock { $0 }
    return Limit.allCases.flatMap { limit in
      RouteClass.allCases.map { routes in
        APIMetrics.Refused(
          limit: limit.rawValue, routes: routes.rawValue,
          count: counts[Pair(limit: limit, routes: routes)] ?? 0)
      }
    }
  }
}

extension API {
  public var metrics: APIMetrics {
    var metrics = APIMetrics()
    metrics.refused = requestLimits.refusals.all
    (metrics.expensiveRunning, metrics.expensiveWaiting, metrics.expensiveWaited) =
      expensiveCalls.figures
    metrics.assist = servers.drafts.metrics
    metrics.channels = servers.channels.figures
    return metrics
  }
}

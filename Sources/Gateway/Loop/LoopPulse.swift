import Primitives
import REST
import Synchronization

/// The activity of a loop, for the log. Never contains data of a client: a path is shown as the
/// route's pattern.
struct Activity: RawRepresentable, Equatable, Sendable {
  let rawValue: UInt32

  static let starting = Activity(rawValue: 0)
  /// In epoll_wait, for half a second at most.
  static let waiting = Activity(rawValue: 1)
  static let mail = Activity(rawValue: 2)
  static let sockets = Activity(rawValue: 3)
  static let handshakes = Activity(rawValue: 4)
  static let timers = Activity(rawValue: 5)
  static let engine = Activity(rawValue: 6)
  static let store = Activity(rawValue: 7)
  static let peers = Activity(rawValue: 8)
  static let output = Activity(rawValue: 9)
  /// A step of an unknown async function, see `LoopServices.resumed`.
  static let task = Activity(rawValue: 10)
  static let job = Activity(rawValue: 11)
  static let page = Activity(rawValue: 12)
  static let metrics = Activity(rawValue: 13)
  static let upgrade = Activity(rawValue: 14)
  static let ended = Activity(rawValue: 15)
  private static let routeMin: UInt32 = 256

  /// The handler of a route of the REST API, by its index in the table.
  static func route(_ index: Int) -> Activity { Activity(rawValue: routeMin + UInt32(index)) }
}

extension Activity: CustomStringConvertible {
  var description: String {
    switch self {
    case .starting: return "starting"
    case .waiting: return "waiting for events"
    case .mail: return "mail of other threads"
    case .sockets: return "reading sockets"
    case .handshakes: return "TLS handshakes"
    case .timers: return "timers"
    case .engine: return "inboxes, tokens and sessions"
    case .store: return "PostgreSQL: answers, queries and batches"
    case .peers: return "other gateways and mail to other loops"
    case .output: return "writing to sockets"
    case .task: return "a step of a REST handler or a background job"
    case .job: return "a background job"
    case .page: return "a page"
    case .metrics: return "GET /metrics"
    case .upgrade: return "an upgrade to WebSocket"
    case .ended: return "ended"
    default: return API.routeName(Int(rawValue - Activity.routeMin))
    }
  }
}

/// The present activity of a loop, which the watchdog reads from its own thread. An update is one
/// store to memory that only this loop writes.
final class LoopPulse: Sendable {
  private let began = Atomic<Int64>(0)
  private let activity = Atomic<UInt32>(Activity.starting.rawValue)

  /// Each turn begins at a different instant, which identifies it.
  func begin(_ now: Instant) { began.store(now.nanoseconds, ordering: .relaxed) }

  func note(_ new: Activity) { activity.store(new.rawValue, ordering: .relaxed) }

  /// The turn, identified by its beginning, and the activity in it.
  func read() -> (turn: Int64, activity: Activity) {
    (
      began.load(ordering: .relaxed),
      Activity(rawValue: activity.load(ordering: .relaxed))
    )
  }
}

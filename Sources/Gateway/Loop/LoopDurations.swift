import Primitives
import REST

/// The times of the reader's statements, from the loop's request until the answer: with the wait
/// for the connection.
struct StatementDurations: Sendable {
  /// The label `statement`.
  enum Class: Int, CaseIterable {
    /// Sessions, pages of messages, and conversations for consoles.
    case session, page, conversation
    /// Marks of readers, and the availability of operators.
    case mark
    /// Statements of REST handlers and background jobs.
    case request
    /// Checks of tokens and of connected people.
    case access
    /// Notifications of other gateways, and changes by them.
    case peers
    /// Timed work of the loop, and messages for the quarantine.
    case upkeep
  }

  private var times = InlineArray<8, DurationHistogram>(repeating: DurationHistogram())

  subscript(kind: Class) -> DurationHistogram { times[kind.rawValue] }

  mutating func add(_ kind: Class, _ nanoseconds: Int64) { times[kind.rawValue].add(nanoseconds) }

  mutating func merge(_ other: StatementDurations) {
    for index in times.indices { times[index].merge(other.times[index]) }
  }
}

/// The times of REST requests, from the complete request until its response. Bounded by the table
/// of routes: a path is counted as its route's pattern, and paths without a route together.
struct RequestDurations: Sendable {
  struct Key: Hashable, Sendable {
    /// An index into the table of routes; nil: no route.
    var route: Int?
    /// 2 for 2xx, and so on.
    var statusClass: Int

    init(route: Int?, status: Int) {
      self.route = route
      statusClass = min(5, max(1, status / 100))
    }
  }

  private(set) var times: [Key: DurationHistogram] = [:]

  mutating func add(_ response: APIResponse, _ nanoseconds: Int64) {
    let key = Key(route: response.route, status: response.status)
    times[key, default: DurationHistogram()].add(nanoseconds)
  }

  mutating func merge(_ other: RequestDurations) {
    for (key, histogram) in other.times {
      times[key, default: DurationHistogram()].merge(histogram)
    }
  }
}

/// A goal of a comparison: a figure of the subject, or its ratio to a peer's, with a bound.

/// The figures of a turn.
enum ComparedFigure: String, Codable, CaseIterable {
  /// Microseconds of the server's processor time per message, delivery, handshake or connection.
  case cpu
  /// For `chat`: microseconds of PostgreSQL's processor time per message, of all its processes.
  case databaseCPU = "database-cpu"
  /// Messages, deliveries or handshakes per second.
  case throughput
  /// Bytes of the server's memory per connection.
  case memory
  /// For `chat`: milliseconds from the due time to the ack, median.
  case ackP50 = "ack-p50"
  /// Milliseconds from the due time to the ack, p99; for `durable` at half load.
  case ackP99 = "ack-p99"
  /// For `durable`: messages per second, divided by the rate of the same batches without a gateway.
  case ceiling
  /// Cores used by the largest number of connections while all are idle.
  case idle
  /// For `growth`: the cost of a delivery with the most connections, divided by that with the
  /// fewest.
  case costGrowth = "cost-growth"
  /// The same for the memory of a connection.
  case memoryGrowth = "memory-growth"

  var name: String {
    switch self {
    case .cpu: "processor time"
    case .databaseCPU: "PostgreSQL's processor time"
    case .throughput: "throughput"
    case .memory: "memory"
    case .ackP50: "ack p50"
    case .ackP99: "ack p99"
    case .ceiling: "share of the database's direct rate"
    case .idle: "cores when idle"
    case .costGrowth: "growth of a delivery's cost"
    case .memoryGrowth: "growth of a connection's memory"
    }
  }

  /// The unit after a figure that is no ratio to a peer.
  var unit: String {
    switch self {
    case .cpu, .databaseCPU: " µs"
    case .throughput: " /s"
    case .memory: " B"
    case .ackP50, .ackP99: " ms"
    case .idle: " cores"
    case .ceiling, .costGrowth, .memoryGrowth: " ×"
    }
  }

  var isLessBetter: Bool { self != .throughput && self != .ceiling }

  /// Whether peers have the figure too.
  var isDivided: Bool {
    switch self {
    case .cpu, .databaseCPU, .throughput, .memory, .ackP50, .ackP99: true
    case .ceiling, .idle, .costGrowth, .memoryGrowth: false
    }
  }
}

struct Goal: Codable, Equatable {
  var figure: ComparedFigure
  /// The peer to divide by; nil compares the figure itself.
  var against: String?
  var bound: Bound

  enum Bound: Equatable {
    case atMost(Double)
    case atLeast(Double)
  }

  enum CodingKeys: String, CodingKey, CaseIterable {
    case figure, against
    case atMost = "at-most"
    case atLeast = "at-least"
  }

  init(figure: ComparedFigure, against: String?, bound: Bound) {
    self.figure = figure
    self.against = against
    self.bound = bound
  }

  init(from decoder: any Decoder) throws {
    try refuseUnknownKeys(decoder, CodingKeys.self)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    figure = try values.decode(ComparedFigure.self, forKey: .figure)
    against = try values.decodeIfPresent(String.self, forKey: .against)
    let most = try values.decodeIfPresent(Double.self, forKey: .atMost)
    let least = try values.decodeIfPresent(Double.self, forKey: .atLeast)
    switch (most, least) {
    case (let most?, nil) where most > 0: bound = .atMost(most)
    case (nil, let least?) where least > 0: bound = .atLeast(least)
    default: throw PlanFailure("a goal has either at-most or at-least, above 0")
    }
  }

  func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(figure, forKey: .figure)
    try values.encodeIfPresent(against, forKey: .against)
    switch bound {
    case .atMost(let most): try values.encode(most, forKey: .atMost)
    case .atLeast(let least): try values.encode(least, forKey: .atLeast)
    }
  }

  func isMet(by value: Double) -> Bool {
    switch bound {
    case .atMost(let most): value <= most
    case .atLeast(let least): value >= least
    }
  }
}

/// A goal of a comparison: a figure of the subject, alone or divided by a peer's, and its bound.

/// What a turn is measured by.
enum ComparedFigure: String, Codable, CaseIterable {
  /// Microseconds of the server's processor time for a message, delivery, handshake or connection.
  case cpu
  /// Messages, deliveries or handshakes a second.
  case throughput
  /// Bytes of the server's memory for a connection.
  case memory
  /// Milliseconds from the due time to the ack, p99; of `durable` at half load.
  case ackP99 = "ack-p99"
  /// Of `durable`: messages a second, over those of the same batches without a gateway.
  case ceiling
  /// Of the largest number of connections: cores used while all rest.
  case idle
  /// Of `growth`: what a delivery costs with the most connections, over the fewest.
  case costGrowth = "cost-growth"
  /// The same of the memory of a connection.
  case memoryGrowth = "memory-growth"

  var name: String {
    switch self {
    case .cpu: "processor time"
    case .throughput: "throughput"
    case .memory: "memory"
    case .ackP99: "ack p99"
    case .ceiling: "part of the database's own rate"
    case .idle: "cores at rest"
    case .costGrowth: "growth of a delivery's cost"
    case .memoryGrowth: "growth of a connection's memory"
    }
  }

  /// Behind a figure that stands alone.
  var unit: String {
    switch self {
    case .cpu: " µs"
    case .throughput: " /s"
    case .memory: " B"
    case .ackP99: " ms"
    case .idle: " cores"
    case .ceiling, .costGrowth, .memoryGrowth: " ×"
    }
  }

  var isLessBetter: Bool { self != .throughput && self != .ceiling }

  /// Others have it too.
  var isDivided: Bool { self == .cpu || self == .throughput || self == .memory }
}

struct Goal: Codable, Equatable {
  var figure: ComparedFigure
  /// The peer that the figure is divided by; without it the figure itself is meant.
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
    default: throw PlanFailure("a goal has at-most or at-least, one of them, above 0")
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

/// Counters, ledger and latencies of one loop.
import Primitives

struct Counters: Sendable, Codable {
  /// Messages made, each counted once, independent of resends.
  var made = 0
  /// Sends on the wire, including resends.
  var sent = 0
  var resent = 0
  var acked = 0
  /// Acks with `duplicate`: the message was stored by an earlier attempt.
  var duplicateAcks = 0
  /// Received message events of all subscribers.
  var delivered = 0
  /// The part of `acked` and `delivered` that came during the warm-up.
  var warmUpAcked = 0
  var warmUpDelivered = 0
  var measuredAcked: Int { acked - warmUpAcked }
  var measuredDelivered: Int { delivered - warmUpDelivered }
  /// Received WebSocket messages that were deflated.
  var inflated = 0
  var reconnects = 0
  /// Subscriptions that continued from a position.
  var resumes = 0
  var resyncs = 0
  /// Heartbeats answered, where they are counted (`million`).
  var pongs = 0
  /// Temporary errors by code, final refusals by code, and ended connections by label.
  var retries: [String: Int] = [:]
  var refusals: [String: Int] = [:]
  var closes: [String: Int] = [:]
  /// Clients that stopped after a close code that forbids a reconnect.
  var stopped = 0

  mutating func add(_ other: Counters) {
    made += other.made
    sent += other.sent
    resent += other.resent
    acked += other.acked
    duplicateAcks += other.duplicateAcks
    delivered += other.delivered
    warmUpAcked += other.warmUpAcked
    warmUpDelivered += other.warmUpDelivered
    inflated += other.inflated
    reconnects += other.reconnects
    resumes += other.resumes
    resyncs += other.resyncs
    pongs += other.pongs
    stopped += other.stopped
    retries.merge(other.retries, uniquingKeysWith: +)
    refusals.merge(other.refusals, uniquingKeysWith: +)
    closes.merge(other.closes, uniquingKeysWith: +)
  }
}

struct Measurements {
  let stamp: Stamp
  let bodies: Bodies
  var random: RandomStream
  var counters = Counters()
  var ledger: Ledger
  var latencies = Latencies()
}

/// A fast, seeded generator (splitmix64), so that a seed repeats a run.
struct RandomStream: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

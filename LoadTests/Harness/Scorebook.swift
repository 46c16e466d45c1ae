/// Everything one loop notes down while it runs: what was counted, what was seen, how long it
/// took.
import Primitives

struct Counters: Sendable, Codable {
  /// Messages that were due and made, each counted once however often it was sent.
  var made = 0
  /// Sends on the wire, resends with them.
  var sent = 0
  var resent = 0
  var acked = 0
  /// Acks that said the message had been stored before: the answer to a resend.
  var duplicateAcks = 0
  /// Message frames, to every subscriber.
  var delivered = 0
  /// WebSocket messages that came deflated.
  var inflated = 0
  var reconnects = 0
  /// Subscriptions that went on from where the client was.
  var resumes = 0
  var resyncs = 0
  /// Temporary errors by code, final refusals by code, lost connections by close code ("none"
  /// without one).
  var retries: [String: Int] = [:]
  var refusals: [String: Int] = [:]
  var closes: [String: Int] = [:]
  /// Clients that gave up because a close code told them to.
  var stopped = 0

  mutating func add(_ other: Counters) {
    made += other.made
    sent += other.sent
    resent += other.resent
    acked += other.acked
    duplicateAcks += other.duplicateAcks
    delivered += other.delivered
    inflated += other.inflated
    reconnects += other.reconnects
    resumes += other.resumes
    resyncs += other.resyncs
    stopped += other.stopped
    retries.merge(other.retries, uniquingKeysWith: +)
    refusals.merge(other.refusals, uniquingKeysWith: +)
    closes.merge(other.closes, uniquingKeysWith: +)
  }
}

struct Scorebook {
  let stamp: Stamp
  let bodies: Bodies
  var random: RandomStream
  var counters = Counters()
  var ledger: Ledger
  var latencies = Latencies()
}

/// A small, fast, seeded generator (splitmix64): a run can be repeated by its seed.
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

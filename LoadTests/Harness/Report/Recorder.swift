/// Records every second of a run: rates, latencies, processor time, memory and batches, and outages
/// of the gateway or its database. Used by one thread, which calls `tick` often.
import Foundation
import Histogram
import Kernel
import Primitives

final class Recorder {
  /// The counters of the run. Totals become rates (`sent` becomes `sent_per_second`), gauges are
  /// stored as they are.
  struct Counts {
    var totals: [String: Int] = [:]
    var gauges: [String: Double] = [:]
  }

  /// Use of the gateway's process during the load.
  struct GatewayUse {
    var processorSeconds = 0.0
    var residentBytesBefore = 0
    var residentBytesAfter = 0
    var residentBytesMax = 0
  }

  let intervals: Intervals
  /// Load generating processes besides this one.
  var generators: [Int] = []
  private(set) var series = RunRecord.Series()
  private(set) var gatewayUse: GatewayUse?
  private(set) var seconds = 0.0
  private let gateway: () -> Int?
  private let postmaster: Int?
  private var postgresBegin: Double?
  private var postgresSeconds: Double?
  private var hasEnded = false
  private let watch: MetricsWatch?
  private var start: Instant?
  private var lastAt = Instant.zero
  private var lastCounts = Counts()
  private var lastMetrics: GatewayMetrics?
  private var firstMetrics: GatewayMetrics?
  private var process: (number: Int, seconds: Double)?
  private var ownSeconds = 0.0
  private var restarts: [Double] = []

  private static let tickMilliseconds: Int64 = 1_000
  private static let shortestMilliseconds: Int64 = 250
  /// Two days; later seconds are not recorded.
  private static let rowsMax = 172_800

  /// - Parameters:
  ///   - gateway: its process, asked again when it has ended: it may have been started anew.
  ///   - postmaster: the first process of its PostgreSQL, if that is on this machine.
  ///   - target: where to ask for /metrics.
  init(
    intervals: Intervals = Intervals(), gateway: @escaping () -> Int?, postmaster: Int? = nil,
    target: Target?
  ) {
    self.intervals = intervals
    self.gateway = gateway
    self.postmaster = postmaster
    watch = MetricsWatch.start(target)
  }

  var hasBegun: Bool { start != nil }

  /// Seconds since the start, at this moment.
  var liveSeconds: Double {
    start.map { Double(SystemClock.now().nanoseconds - $0.nanoseconds) / 1e9 } ?? 0
  }

  /// Starts the load; earlier values belong to the warm-up.
  func begin(_ counts: Counts) {
    guard start == nil else { return }
    let now = SystemClock.now()
    start = now
    lastAt = now
    lastCounts = counts
    firstMetrics = watch?.latest
    lastMetrics = firstMetrics
    ownSeconds = generatorSeconds
    postgresBegin = postmaster.map { LocalGateway.family(of: $0) }
    _ = intervals.take()
    if let number = gateway(), let sample = ProcessSample(process: number, isBrief: true) {
      process = (number, sample.seconds)
      gatewayUse = GatewayUse(
        residentBytesBefore: sample.bytes, residentBytesAfter: sample.bytes,
        residentBytesMax: sample.bytes)
    }
  }

  /// Records a row when a second has passed; returns whether it did.
  @discardableResult
  func tick(_ counts: @autoclosure () -> Counts) -> Bool {
    guard start != nil else { return false }
    let now = SystemClock.now()
    guard now.milliseconds(since: lastAt) >= Recorder.tickMilliseconds else { return false }
    row(now, counts())
    return true
  }

  /// The load is over, and all messages are settled.
  func end(_ counts: Counts) {
    guard start != nil, !hasEnded else { return }
    hasEnded = true
    let now = SystemClock.now()
    // The rate of a few milliseconds would be noise.
    if now.milliseconds(since: lastAt) >= Recorder.shortestMilliseconds || series.seconds.isEmpty {
      row(now, counts)
    } else {
      sampleGateway(nil)
    }
    if let postmaster, let postgresBegin {
      postgresSeconds = LocalGateway.family(of: postmaster) - postgresBegin
    }
    watch?.stop()
  }

  // MARK: One row

  private func row(_ now: Instant, _ counts: Counts) {
    guard let start, series.seconds.count < Recorder.rowsMax else { return }
    let elapsed = max(1e-3, Double(now.nanoseconds - lastAt.nanoseconds) / 1e9)
    seconds = Double(now.nanoseconds - start.nanoseconds) / 1e9
    var row: [String: Double] = counts.gauges
    for (name, total) in counts.totals {
      let last = lastCounts.totals[name] ?? 0
      row["\(name)_per_second"] = Double(total - last) / elapsed
    }
    for (name, histogram) in intervals.take() {
      for (key, percentile) in [("p50", 50.0), ("p99", 99), ("p999", 99.9)] {
        row["\(name)_\(key)_ms"] = Double(histogram.valueAtPercentile(percentile)) / 1000
      }
    }
    let own = generatorSeconds
    // A generator that has ended is missing in the sum.
    row["generator_cores"] = max(0, own - ownSeconds) / elapsed
    ownSeconds = own
    sampleGateway(elapsed).forEach { row[$0] = $1 }
    sampleBatches().forEach { row[$0] = $1 }
    append(row)
    lastAt = now
    lastCounts = counts
  }

  private func append(_ row: [String: Double]) {
    let rows = series.seconds.count
    series.seconds.append(rounded(seconds, places: 2))
    for (name, value) in row {
      series.columns[name, default: Array(repeating: nil, count: rows)].append(rounded(value))
    }
    // A column without a value in this second gets a gap.
    for name in series.columns.keys where row[name] == nil { series.columns[name]?.append(nil) }
  }

  @discardableResult
  private func sampleGateway(_ elapsed: Double?) -> [String: Double] {
    guard var use = gatewayUse else { return [:] }
    if let known = process, let sample = ProcessSample(process: known.number, isBrief: true) {
      let used = max(0, sample.seconds - known.seconds)
      process?.seconds = sample.seconds
      use.processorSeconds += used
      use.residentBytesAfter = sample.bytes
      use.residentBytesMax = max(use.residentBytesMax, sample.bytes)
      gatewayUse = use
      var row = ["gateway_resident_bytes": Double(sample.bytes)]
      if let elapsed { row["gateway_cores"] = used / elapsed }
      return row
    }
    // The process has ended. A new one may be running, whose processor time is this run's too.
    if let number = gateway(), number != process?.number,
      let sample = ProcessSample(process: number, isBrief: true)
    {
      process = (number, sample.seconds)
      use.processorSeconds += sample.seconds
      gatewayUse = use
      restarts.append(seconds)
    }
    return [:]
  }

  private func sampleBatches() -> [String: Double] {
    guard let metrics = watch?.latest, let last = lastMetrics else { return [:] }
    lastMetrics = metrics
    let batches = metrics.batches - last.batches
    let messages = metrics.committed - last.committed
    // A restarted gateway counts from 0.
    guard batches > 0, messages >= 0 else { return [:] }
    return ["batch_messages": Double(messages) / Double(batches)]
  }

  private var generatorSeconds: Double {
    ([Int(getpid())] + generators).reduce(0) {
      $0 + (ProcessSample(process: $1, isBrief: true)?.seconds ?? 0)
    }
  }

  // MARK: Results

  var lastRow: [String: Double] {
    series.columns.compactMapValues { $0.last.flatMap { $0 } }
  }

  /// Batches of the load by their number of messages, in powers of two.
  var batches: [RunRecord.BatchBucket] {
    guard let first = firstMetrics, let last = lastMetrics, first.batches <= last.batches else {
      return []
    }
    var buckets: [RunRecord.BatchBucket] = []
    var below = 0
    var from = 1
    for limit in last.batchesUpTo.keys.sorted() {
      let upTo = (last.batchesUpTo[limit] ?? 0) - (first.batchesUpTo[limit] ?? 0)
      buckets.append(RunRecord.BatchBucket(from: from, count: max(0, upTo - below)))
      below = upTo
      from = limit + 1
    }
    while buckets.last?.count == 0 { buckets.removeLast() }
    return buckets
  }

  /// Mean of the load; nil when the gateway does not report it.
  var meanBatch: Double? {
    guard let first = firstMetrics, let last = lastMetrics, last.batches > first.batches else {
      return nil
    }
    return Double(last.committed - first.committed) / Double(last.batches - first.batches)
  }

  var events: [RunRecord.Event] {
    guard let start else { return [] }
    let outages = (watch?.outages ?? []).compactMap { outage -> RunRecord.Event? in
      let at = Double(outage.began.nanoseconds - start.nanoseconds) / 1e9
      let end = outage.ended.map { Double($0.nanoseconds - start.nanoseconds) / 1e9 } ?? seconds
      guard end > 0, at < seconds else { return nil }
      let name = outage.condition == .silent ? "gateway does not answer" : "PostgreSQL is away"
      return RunRecord.Event(
        name: name, atSeconds: rounded(max(0, at), places: 1),
        lastsSeconds: rounded(end - max(0, at), places: 1))
    }
    let anew = restarts.map {
      RunRecord.Event(
        name: "another gateway process", atSeconds: rounded($0, places: 1), lastsSeconds: 0)
    }
    return (outages + anew).sorted { $0.atSeconds < $1.atSeconds }
  }

  /// Adds all figures to the record. The processor time is divided by `messages` and `deliveries`.
  func fill(_ record: inout RunRecord, messages: Int, deliveries: Int) {
    record.series = series
    record.batches = batches
    record.events = (record.events + events + record.series.stalls).sorted {
      $0.atSeconds < $1.atSeconds
    }
    if let meanBatch { record.set("batch_messages", rounded(meanBatch)) }
    // Less than at the start means that it was restarted.
    if let postgresSeconds, postgresSeconds >= 0, messages > 0 {
      record.set(
        "postgres_cpu_us_per_message", rounded(postgresSeconds * 1e6 / Double(messages)))
    }
    guard let use = gatewayUse else { return }
    record.set("gateway_cpu_seconds", rounded(use.processorSeconds))
    record.set("gateway_cores", rounded(use.processorSeconds / max(seconds, 1e-3)))
    record.set("gateway_resident_bytes", use.residentBytesAfter)
    record.set("gateway_resident_bytes_max", use.residentBytesMax)
    record.set("gateway_growth_bytes", use.residentBytesAfter - use.residentBytesBefore)
    for (name, count) in [("message", messages), ("delivery", deliveries)] where count > 0 {
      record.set("gateway_cpu_us_per_\(name)", rounded(use.processorSeconds * 1e6 / Double(count)))
    }
  }
}

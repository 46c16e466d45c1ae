/// Shows the progress of a run: lines redrawn in place on a terminal, otherwise one line every few
/// seconds. It also handles Ctrl-C.
import Foundation
import Kernel
import Primitives
import Synchronization

struct Progress: ~Copyable {
  private let shared: RunState
  private let signals: SignalDescriptor
  private let title: String
  private let plannedSeconds: Double?
  private let interval: Int64
  private var terminal: Terminal?
  private let start = SystemClock.now()
  private var lastShown = SystemClock.now()

  private static let redrawMilliseconds: Int64 = 200
  private static let sparkSeconds = 60

  /// Precondition: no thread was started before, because this blocks the signals that it reads.
  init(
    _ shared: RunState, everySeconds seconds: Int, title: String = "", plannedSeconds: Int? = nil
  ) throws(Errno) {
    self.shared = shared
    self.title = title
    self.plannedSeconds = plannedSeconds.map { Double($0) }
    terminal = Terminal()
    interval = terminal == nil ? Int64(seconds) * 1000 : Progress.redrawMilliseconds
    signals = try SignalDescriptor([.interrupt, .terminate])
  }

  /// Reads signals, samples the gateway and updates the output; to be called often. The first
  /// Ctrl-C ends the load and drains, the second one ends the process.
  mutating func tick(_ recorder: Recorder) {
    if signals.next() != nil {
      if shared.stop.load(ordering: .relaxed) {
        terminal?.clear()
        exit(130)
      }
      shared.stop.store(true, ordering: .relaxed)
    }
    let total = shared.total()
    record(total, in: recorder)
    let now = SystemClock.now()
    if now.milliseconds(since: lastShown) >= interval { show(now, total, recorder) }
  }

  mutating func finish(_ recorder: Recorder) {
    // The closing phase may end between two ticks.
    recorder.end(shared.total().counts)
    terminal?.clear()
  }

  private func record(_ total: RunState.Snapshot, in recorder: Recorder) {
    switch total.phase {
    case .connecting, .warmingUp: break
    case .loading, .draining:
      recorder.begin(total.counts)
      recorder.tick(total.counts)
    case .closing: recorder.end(total.counts)
    }
  }

  private mutating func show(_ now: Instant, _ total: RunState.Snapshot, _ recorder: Recorder) {
    lastShown = now
    guard let hasColour = terminal?.hasColour, let columns = terminal?.columns else {
      return FileHandle.standardError.write(Data((line(now, total, recorder.lastRow) + "\n").utf8))
    }
    let columnsOfSeries = recorder.series.columns
    let state = LiveView.State(
      title: title, snapshot: total, seconds: recorder.liveSeconds, plannedSeconds: plannedSeconds,
      row: recorder.lastRow,
      ackedPerSecond: Array((columnsOfSeries["acked_per_second"] ?? []).suffix(Self.sparkSeconds)),
      ackP99: Array((columnsOfSeries["ack_p99_ms"] ?? []).suffix(Self.sparkSeconds)),
      isEnding: shared.stop.load(ordering: .relaxed))
    terminal?.draw(LiveView(hasColour: hasColour).lines(state, columns: columns))
  }

  private func line(_ now: Instant, _ total: RunState.Snapshot, _ row: [String: Double]) -> String {
    let violations = total.violations.values.reduce(0, +)
    return [
      "\(now.milliseconds(since: start) / 1000) s \(total.phase.name)",
      "online \(total.online)/\(total.clients)",
      violations == 0 ? "" : "VIOLATIONS \(violations)",
      "sent \(total.made)",
      "acked \(total.acked) (\(Int(row["acked_per_second"] ?? 0))/s)",
      "in flight \(total.unsettled)",
      "p99 \(row["ack_p99_ms"].map { milliseconds($0) + " ms" } ?? "–")",
      "delivered \(total.delivered) (\(Int(row["delivered_per_second"] ?? 0))/s)",
    ].filter { !$0.isEmpty }.joined(separator: " · ")
  }
}

extension RunState.Snapshot {
  var counts: Recorder.Counts {
    Recorder.Counts(
      totals: ["sent": made, "acked": acked, "delivered": delivered],
      gauges: ["in_flight": Double(unsettled)])
  }
}

/// Three significant digits: 0.42, 7.3, 118.
func milliseconds(_ value: Double) -> String {
  let tenths = Int((value * 10).rounded())
  if tenths >= 1000 { return String(Int(value.rounded())) }
  if tenths >= 100 { return "\(tenths / 10).\(tenths % 10)" }
  let hundredths = Int((value * 100).rounded())
  return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
}

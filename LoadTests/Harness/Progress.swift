/// One line about the run, renewed in place on a terminal, appended every few seconds elsewhere;
/// and the place where Ctrl-C is heard.
import Foundation
import Kernel
import Primitives
import Synchronization

struct Progress: ~Copyable {
  private let shared: Shared
  private let signals: SignalDescriptor
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private let interval: Int64
  private let gateway: Int?
  private var begin: ProcessSample?
  private var end: ProcessSample?
  private let start = SystemClock.now()
  private var lastShown = SystemClock.now()
  private var lastCounted = (at: SystemClock.now(), acked: 0, delivered: 0)
  private var rates = (acked: 0.0, delivered: 0.0)

  /// Make it before any thread starts: it blocks the signals it wants to read.
  init(_ shared: Shared, everySeconds seconds: Int, gateway: Int?) throws(Errno) {
    self.shared = shared
    self.gateway = gateway
    interval = isTerminal ? 200 : Int64(seconds) * 1000
    signals = try SignalDescriptor([.interrupt, .terminate])
  }

  /// Until every loop is done. The first Ctrl-C ends the load and awaits what is in flight, a
  /// second one the process.
  mutating func watch() {
    while shared.finished.load(ordering: .sequentiallyConsistent) < shared.loopCount {
      usleep(50_000)
      if signals.next() != nil {
        if shared.stop.load(ordering: .relaxed) { exit(130) }
        shared.stop.store(true, ordering: .relaxed)
      }
      sample()
      let now = SystemClock.now()
      if now.milliseconds(since: lastShown) >= interval { show(now) }
    }
    // The goodbye may be over before anybody looks.
    if end == nil, begin != nil { end = gateway.flatMap { ProcessSample(process: $0) } }
    if isTerminal { write("\r\u{1B}[K") }
  }

  /// The gateway's process when the load began and when all was quiet, if both could be read.
  var samples: (ProcessSample, ProcessSample)? {
    if let begin, let end { (begin, end) } else { nil }
  }

  private mutating func sample() {
    guard let gateway else { return }
    let phase = shared.total().phase
    if begin == nil, phase == .loading { begin = ProcessSample(process: gateway) }
    if begin != nil, end == nil, phase == .closing {
      end = ProcessSample(process: gateway)
    }
  }

  private mutating func show(_ now: Instant) {
    lastShown = now
    let total = shared.total()
    let elapsed = now.milliseconds(since: lastCounted.at)
    if elapsed >= 1000 {
      let seconds = Double(elapsed) / 1000
      rates.acked = Double(total.acked - lastCounted.acked) / seconds
      rates.delivered = Double(total.delivered - lastCounted.delivered) / seconds
      lastCounted = (now, total.acked, total.delivered)
    }
    let line = [
      "\(seconds(now)) \(total.phase.name)",
      "online \(total.online)/\(total.clients)",
      total.violations == 0 ? "" : "VIOLATIONS \(total.violations)",
      "sent \(total.made)",
      "acked \(total.acked) (\(Int(rates.acked))/s)",
      "in flight \(total.unsettled)",
      "p99 \(total.ackP99.map { milliseconds($0) + " ms" } ?? "–")",
      "delivered \(total.delivered) (\(Int(rates.delivered))/s)",
    ].filter { !$0.isEmpty }.joined(separator: " · ")
    write(isTerminal ? "\r\u{1B}[K\(line.prefix(columns - 1))" : "\(line)\n")
  }

  /// A line that wraps could not be renewed in place.
  private var columns: Int {
    var size = winsize()
    // SAFETY: the kernel writes a winsize.
    let result = unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size)
    return result == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
  }

  private func seconds(_ now: Instant) -> String {
    "\(now.milliseconds(since: start) / 1000) s"
  }

  private func write(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
  }
}

/// Three digits that matter: 0.42, 7.3, 118.
func milliseconds(_ value: Double) -> String {
  let tenths = Int((value * 10).rounded())
  if tenths >= 1000 { return String(Int(value.rounded())) }
  if tenths >= 100 { return "\(tenths / 10).\(tenths % 10)" }
  let hundredths = Int((value * 100).rounded())
  return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
}

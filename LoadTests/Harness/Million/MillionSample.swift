/// Memory and processor time of everything that takes part in `million`, at one moment.
import Foundation
import Kernel
import Primitives

/// Memory of a group of processes (proc_pid_smaps_rollup(5)).
struct GroupMemory: Equatable {
  var processes = 0
  /// Heap and stacks.
  var anonymousBytes = 0
  /// Resident pages, those that several processes share divided among them.
  var proportionalBytes = 0

  init() {}

  init(_ processes: [Int]) {
    for process in processes {
      guard let data = FileManager.default.contents(atPath: "/proc/\(process)/smaps_rollup") else {
        continue
      }
      add(rollup: String(decoding: data, as: UTF8.self))
    }
  }

  mutating func add(rollup text: String) {
    processes += 1
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 1, let kibibytes = Int(fields[1]) else { continue }
      if fields[0] == "Anonymous:" { anonymousBytes += kibibytes << 10 }
      if fields[0] == "Pss:" { proportionalBytes += kibibytes << 10 }
    }
  }
}

struct MillionSample {
  var at = SystemClock.now()
  var gateways = GroupMemory()
  var clients = GroupMemory()
  var postgres = GroupMemory()
  var kernel = KernelMemory()
}

/// Processor seconds so far, and heartbeats.
struct MillionUse {
  var at = SystemClock.now()
  var gateways = 0.0
  var clients = 0.0
  var postgres = 0.0
  var transactions = 0
  var pongs = 0

  /// Shares of a core between two moments.
  func since(_ begin: MillionUse) -> MillionRest {
    let seconds = max(1e-3, Double(at.nanoseconds - begin.at.nanoseconds) / 1e9)
    return MillionRest(
      seconds: seconds, gatewayCores: (gateways - begin.gateways) / seconds,
      clientCores: (clients - begin.clients) / seconds,
      postgresCores: (postgres - begin.postgres) / seconds,
      transactionsPerSecond: Double(transactions - begin.transactions) / seconds,
      heartbeatsPerSecond: Double(pongs - begin.pongs) / seconds)
  }
}

/// The cost of widgets that only hold their connection.
struct MillionRest: Equatable {
  var seconds = 0.0
  var gatewayCores = 0.0
  var clientCores = 0.0
  var postgresCores = 0.0
  var transactionsPerSecond = 0.0
  var heartbeatsPerSecond = 0.0
}

/// A step of the run: so many widgets, opened, at rest, and while some of them speak.
struct MillionStep {
  var widgets = 0
  /// Opened by this step, in this time.
  var opened = 0
  var openSeconds = 0.0
  /// Processor seconds of this step's opening.
  var opening = MillionRest()
  /// Visitors and sessions created beforehand, in this time.
  var prepareSeconds = 0.0
  var rest = MillionRest()
  var sample = MillionSample()

  var openedPerSecond: Double { Double(opened) / max(1e-3, openSeconds) }
}

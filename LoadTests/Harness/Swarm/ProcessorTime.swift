/// Processor time of the server and of this process between two moments, in nanoseconds: from
/// `schedstat` of each thread (proc_pid_schedstat(5)), because `stat` counts in hundredths of a
/// second, and many handshakes take less.
import Foundation
import Kernel
import Primitives

struct ProcessorTime {
  let at: Instant
  /// By thread; nil without a server process.
  private let server: [Int: Int64]?
  private let client: Int64

  /// `polled` is the time that this thread spent waiting, which is subtracted.
  init(server process: Int?, polled: Int64 = 0) throws {
    server = try process.map { try ProcessorTime.threads(of: $0) }
    client = SystemClock.threadTimeNanoseconds() - polled
    at = SystemClock.now()
  }

  struct Difference {
    var seconds = 0.0
    var serverSeconds: Double?
    var clientSeconds = 0.0
  }

  func since(_ begin: ProcessorTime) -> Difference {
    var difference = Difference()
    difference.seconds = Double(at.nanoseconds - begin.at.nanoseconds) / 1e9
    difference.clientSeconds = Double(client - begin.client) / 1e9
    if let server, let earlier = begin.server {
      let used = server.reduce(Int64(0)) { $0 + $1.value - (earlier[$1.key] ?? 0) }
      difference.serverSeconds = Double(used) / 1e9
    }
    return difference
  }

  /// Sum of all current threads of a process; nil when it does not exist.
  static func nanoseconds(of process: Int) -> Int64? {
    (try? threads(of: process))?.values.reduce(0, +)
  }

  private static func threads(of process: Int) throws -> [Int: Int64] {
    let folder = "/proc/\(process)/task"
    var times: [Int: Int64] = [:]
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      guard let thread = Int(name),
        let text = FileManager.default.contents(atPath: "\(folder)/\(name)/schedstat"),
        let first = String(decoding: text, as: UTF8.self).split(separator: " ").first,
        let nanoseconds = Int64(first)
      else { continue }
      times[thread] = nanoseconds
    }
    if times.isEmpty { throw WorkFailure.noProcess(process) }
    return times
  }
}

/// The reason why a workload could not run.
enum WorkFailure: Error, CustomStringConvertible {
  case noProcess(Int)
  case notSubscribed(String)
  case notOpened(open: Int, wanted: Int, endings: [String: Int])
  case tooManyDescriptors(needed: Int, allowed: Int)

  var description: String {
    switch self {
    case .noProcess(let process): "--pid: no process has the id \(process)"
    case .notSubscribed(let why): "not all connections could subscribe: \(why)"
    case .notOpened(let open, let wanted, let endings):
      "\(open) of \(wanted) connections opened; "
        + (endings.isEmpty
          ? "the others got no answer: check the server's address and path"
          : "the others ended: \(list(endings))")
    case .tooManyDescriptors(let needed, let allowed):
      "\(needed) descriptors are needed, \(allowed) allowed (ulimit -n)"
    }
  }
}

func list(_ counts: [String: Int]) -> String {
  counts.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", ")
}

/// The machine a figure was measured on, without which it says little.
import Foundation

enum Machine {
  static var description: String {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let memory = ProcessInfo.processInfo.physicalMemory >> 20
    let kernel = text("/proc/sys/kernel/osrelease") ?? "unknown"
    return "\(cores) × \(processor), \(memory) MiB, Linux \(kernel)"
  }

  private static var processor: String {
    for line in (text("/proc/cpuinfo") ?? "").split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2, parts[0].hasPrefix("model name") {
        return parts[1].trimmingCharacters(in: .whitespaces)
      }
    }
    return "unknown processor"
  }

  private static func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: path)
      .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) }
  }
}

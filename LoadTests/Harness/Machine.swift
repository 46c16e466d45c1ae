/// The machine of a measurement, for the report.
import Foundation

enum Machine {
  static var description: String {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let memory = ProcessInfo.processInfo.physicalMemory >> 20
    return "\(cores) × \(processor), \(memory) MiB, \(kernel)"
  }

  static var kernel: String { "Linux \(text("/proc/sys/kernel/osrelease") ?? "unknown")" }

  /// The distribution's name, os-release(5).
  static var system: String {
    value(of: "PRETTY_NAME", in: "/etc/os-release", separator: "=")?
      .trimmingCharacters(in: ["\"", "'"]) ?? "unknown system"
  }

  static var processor: String {
    value(of: "model name", in: "/proc/cpuinfo", separator: ":") ?? "unknown processor"
  }

  private static func value(of name: String, in path: String, separator: Character) -> String? {
    for line in (text(path) ?? "").split(separator: "\n") {
      let parts = line.split(separator: separator, maxSplits: 1)
      if parts.count == 2, parts[0].hasPrefix(name) {
        return parts[1].trimmingCharacters(in: .whitespaces)
      }
    }
    return nil
  }

  private static func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: path)
      .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) }
  }
}

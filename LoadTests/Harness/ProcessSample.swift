/// Processor time and memory of another process, for example the gateway (proc(5)).
import Foundation

struct ProcessSample {
  /// Processor seconds in user and kernel mode.
  var seconds: Double
  /// Including those of its children that have ended.
  var secondsWithChildren: Double
  var parent: Int
  /// Resident bytes.
  var bytes: Int
  /// Resident bytes of heap and stacks; 0 where the kernel does not report them.
  var anonymousBytes: Int

  /// - Parameter isBrief: omits `anonymousBytes`, for frequent calls: the kernel walks the whole
  /// address space to count them.
  init?(process: Int, isBrief: Bool = false) {
    guard let stat = ProcessSample.text("/proc/\(process)/stat"),
      let memory = ProcessSample.text("/proc/\(process)/statm")
    else { return nil }
    // The second field is the program's name in parentheses, which may contain any character.
    let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
    let pages = memory.split(separator: " ")
    guard fields.count > 15, pages.count > 1, let parent = Int(fields[2]),
      let user = Double(fields[12]), let system = Double(fields[13]),
      let childUser = Double(fields[14]), let childSystem = Double(fields[15]),
      let resident = Int(pages[1])
    else { return nil }
    let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
    seconds = (user + system) / ticks
    secondsWithChildren = seconds + (childUser + childSystem) / ticks
    self.parent = parent
    bytes = resident * sysconf(Int32(_SC_PAGESIZE))
    anonymousBytes = isBrief ? 0 : ProcessSample.anonymous(process)
  }

  /// Reads a line such as `Anonymous:  1234 kB` (proc_pid_smaps(5)).
  private static func anonymous(_ process: Int) -> Int {
    let lines = (text("/proc/\(process)/smaps_rollup") ?? "").split(separator: "\n")
    let line = lines.first { $0.hasPrefix("Anonymous:") }
    let fields = line?.split(separator: " ") ?? []
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * 1024 : 0
  }

  private static func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
  }
}

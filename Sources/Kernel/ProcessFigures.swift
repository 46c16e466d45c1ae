import CLinux
public import Primitives
import Synchronization

/// The process's use of the machine, as Prometheus' client libraries report it (`process_*`).
public struct ProcessFigures: Sendable {
  /// Nanoseconds of all threads.
  public var processorTime: Int64 = 0
  public var residentBytes = 0
  public var virtualBytes = 0
  public var openDescriptors = 0
  /// RLIMIT_NOFILE.
  public var descriptorsMax = 0
  /// When the process started.
  public var startedAt = WallTime(microseconds: 0)

  public init() {}

  /// Reads the figures of this process. It takes some microseconds; on Linux before 6.2, which
  /// does not report the number of descriptors, about a microsecond for each of them.
  public static func read() throws(Errno) -> ProcessFigures {
    var figures = ProcessFigures()
    figures.processorTime = SystemClock.processTimeNanoseconds()
    let fields = try StatusFields()
    figures.virtualBytes = Int(fields[23])
    figures.residentBytes = Int(fields[24]) * sysconf(Int32(_SC_PAGESIZE))
    figures.startedAt = startedAt(fields)
    figures.openDescriptors = try countDescriptors()
    figures.descriptorsMax = DescriptorLimit.current
    return figures
  }

  /// proc_pid_stat(5). The name in parentheses may have any characters, so the fields after it
  /// are counted, from 3.
  private struct StatusFields {
    private let values: [Int64]

    init() throws(Errno) {
      let line = try smallFile("/proc/self/stat")
      let end = line.lastIndex(of: ")") ?? line.startIndex
      values = line[end...].split(separator: " ").dropFirst().map { Int64($0) ?? 0 }
    }

    subscript(_ number: Int) -> Int64 {
      values.indices.contains(number - 3) ? values[number - 3] : 0
    }
  }

  /// Computed once, since a time that wavers looks like restarts.
  private static let start = Atomic<Int64>(0)

  private static func startedAt(_ fields: StatusFields) -> WallTime {
    let known = start.load(ordering: .relaxed)
    if known != 0 { return WallTime(microseconds: known) }
    let ticks = Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let age = SystemClock.sinceBootNanoseconds() / 1_000 - fields[22] * 1_000_000 / ticks
    let computed = SystemClock.wallTime().microseconds - age
    let (isFirst, first) = start.compareExchange(
      expected: 0, desired: computed, ordering: .relaxed)
    return WallTime(microseconds: isFirst ? computed : first)
  }

  private static func countDescriptors() throws(Errno) -> Int {
    var information = stat()
    // SAFETY: `information` is written during the call, and the path is copied for it.
    guard unsafe stat("/proc/self/fd", &information) == 0 else { throw Errno.current }
    if information.st_size > 0 { return Int(information.st_size) }
    // Without the descriptor of the folder itself.
    return try FolderListing.names(in: "/proc/self/fd").count - 1
  }

  /// The text of a file of the kernel with one line.
  private static func smallFile(_ path: String) throws(Errno) -> String {
    // SAFETY: the path is copied into a C string for the call.
    let file = unsafe chirrup_open_to_read(path)
    guard file >= 0 else { throw Errno.current }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 1_024)
    // SAFETY: the buffer has `count` bytes.
    let count = unsafe CLinux.read(file, &buffer, buffer.count)
    guard count >= 0 else { throw Errno.current }
    return String(decoding: buffer[..<count], as: UTF8.self)
  }
}

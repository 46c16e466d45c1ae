/// The log: a line of text or of JSON for each event, on standard error.
///
/// A reader that is stuck must not stop the gateway: a line that does not fit is dropped, and the
/// next one that does says how many were.
import Glibc
import Kernel
import Logging
import Primitives
import Settings
import Synchronization

struct LineLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level
  private let format: LogFormat

  init(_ settings: Settings) {
    logLevel = Logger.Level(rawValue: settings.logLevel.rawValue) ?? .info
    format = settings.logFormat
  }

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let fields = metadata.merging(event.metadata ?? [:]) { $1 }
    let now = SystemClock.wallTime()
    let line =
      switch format {
      case .text: LineLogHandler.text(event, fields, at: now)
      case .json: LineLogHandler.json(event, fields, at: now)
      }
    LogPipe.write(line)
  }

  /// `2026-11-21T14:03:07.042Z info message key=value`
  static func text(_ event: LogEvent, _ fields: Logger.Metadata, at time: WallTime) -> String {
    var line = "\(time) \(event.level.rawValue) \(oneLine("\(event.message)"))"
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
      let text = "\(value)"
      let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F }
      line += " \(key)=\(isPlain ? text : jsonText(text))"
    }
    return line
  }

  /// `{"at":…,"level":…,"message":…,"key":"value"}`
  static func json(_ event: LogEvent, _ fields: Logger.Metadata, at time: WallTime) -> String {
    var line =
      "{\"at\":\"\(time)\",\"level\":\"\(event.level.rawValue)\",\"message\":"
      + jsonText("\(event.message)")
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
      line += ",\(jsonText(key)):\(jsonText("\(value)"))"
    }
    return line + "}"
  }

  /// A peer's text must not be able to begin a line of its own.
  private static func oneLine(_ text: String) -> String {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } ? text : jsonText(text)
  }
}

/// Standard error as a place that may be full.
private enum LogPipe {
  private static let dropped = Atomic<Int>(0)
  /// Bytes of the longest line. One of PIPE_BUF (4096) is written whole or not at all.
  private static let lineBytesMax = 4_095

  static func write(_ line: String) {
    guard isWritable else {
      dropped.add(1, ordering: .relaxed)
      return
    }
    let missing = dropped.exchange(0, ordering: .relaxed)
    if missing > 0 { send("\(missing) lines were dropped: nobody read them") }
    send(line)
  }

  private static func send(_ line: String) {
    let bytes = Array(line.utf8.prefix(lineBytesMax)) + [UInt8(ascii: "\n")]
    // SAFETY: the buffer lives through the call. Whatever fails, there is no place to tell it.
    _ = unsafe bytes.withUnsafeBytes { buffer in
      unsafe Glibc.write(STDERR_FILENO, buffer.baseAddress, buffer.count)
    }
  }

  private static var isWritable: Bool {
    var state = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    // SAFETY: one structure, which the call writes to.
    return unsafe poll(&state, 1, 0) == 1 && Int32(state.revents) & POLLOUT != 0
  }
}

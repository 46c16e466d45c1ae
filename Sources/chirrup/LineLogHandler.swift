/// The log handler: one line of text or JSON per event, on standard error.
///
/// A reader that does not read must not block the gateway: a line that standard error cannot take
/// is dropped, and the next line is preceded by the number of dropped lines.
import Glibc
import Kernel
import Logging
import Primitives
import Settings
import Synchronization

struct LineLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  /// The same for all copies, since a reload changes it for all.
  var logLevel: Logger.Level {
    get { LogThreshold.level }
    set { LogThreshold.level = newValue }
  }
  private let format: LogFormat

  init(_ settings: Settings) {
    LogPipe.isJSON.store(settings.log.format == .json, ordering: .relaxed)
    format = settings.log.format
    LogThreshold.use(settings.log.level)
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

  /// `2026-11-21T14:03:07.042Z info message key=value list=[one,two]`
  static func text(_ event: LogEvent, _ fields: Logger.Metadata, at time: WallTime) -> String {
    var line = "\(time) \(event.level.rawValue) \(oneLine("\(event.message)"))"
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
      line += " \(key)=\(text(value))"
    }
    return line
  }

  private static func text(_ value: Logger.MetadataValue) -> String {
    if case .array(let elements) = value {
      return "[" + elements.map(text).joined(separator: ",") + "]"
    }
    let text = "\(value)"
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F }
    return isPlain ? text : jsonText(text)
  }

  /// `{"at":…,"level":…,"message":…,"key":"value"}`; config/LOG.md documents the keys. A line that
  /// is longer than `LogPipe.lineBytesMax` would be cut within its JSON: it has only the beginning
  /// of its message.
  static func json(_ event: LogEvent, _ fields: Logger.Metadata, at time: WallTime) -> String {
    var line =
      "{\"at\":\"\(time)\",\"level\":\"\(event.level.rawValue)\",\"message\":"
      + jsonText("\(event.message)")
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
      line += ",\(jsonText(key)):\(json(value))"
    }
    if line.utf8.count < LogPipe.lineBytesMax { return line + "}" }
    let start = "\(event.message)".unicodeScalars.prefix(cutMessageMax)
    return "{\"at\":\"\(time)\",\"level\":\"\(event.level.rawValue)\",\"message\":"
      + jsonText(String(String.UnicodeScalarView(start))) + ",\"cut\":true}"
  }

  /// Code points of the message in a line that is too long. Each has six bytes at most.
  private static let cutMessageMax = 600

  /// Integers and booleans are no strings.
  private static func json(_ value: Logger.MetadataValue) -> String {
    switch value {
    case .string(let text): return jsonText(text)
    case .stringConvertible(let value as any BinaryInteger): return "\(value)"
    case .stringConvertible(let value as Bool): return "\(value)"
    case .stringConvertible(let value): return jsonText("\(value)")
    case .array(let elements): return "[" + elements.map(json).joined(separator: ",") + "]"
    case .dictionary(let members):
      let pairs = members.sorted { $0.key < $1.key }.map { "\(jsonText($0)):\(json($1))" }
      return "{" + pairs.joined(separator: ",") + "}"
    }
  }

  /// Escapes control characters, so that text from a peer cannot forge a log line.
  private static func oneLine(_ text: String) -> String {
    text.utf8.allSatisfy { !$0.isASCIIControl } ? text : jsonText(text)
  }
}

/// The lowest level of the log.
enum LogThreshold {
  private static let index = Atomic<Int>(Logger.Level.allCases.firstIndex(of: .info) ?? 0)

  static var level: Logger.Level {
    get { Logger.Level.allCases[index.load(ordering: .relaxed)] }
    set { index.store(Logger.Level.allCases.firstIndex(of: newValue) ?? 0, ordering: .relaxed) }
  }

  static func use(_ level: LogLevel) {
    self.level = Logger.Level(rawValue: level.rawValue) ?? .info
  }
}

/// Writes to standard error without blocking.
private enum LogPipe {
  /// The format of the line about dropped lines.
  static let isJSON = Atomic<Bool>(false)
  private static let dropped = Atomic<Int>(0)
  /// The longest line in bytes, without its newline: a write of up to PIPE_BUF (4096) bytes to a
  /// pipe is atomic.
  static let lineBytesMax = 4_095

  static func write(_ line: String) {
    guard isWritable else {
      dropped.add(1, ordering: .relaxed)
      return
    }
    let missing = dropped.exchange(0, ordering: .relaxed)
    if missing > 0 { send(noteOf(dropped: missing)) }
    send(line)
  }

  private static func noteOf(dropped count: Int) -> String {
    let text = "\(count) log lines were dropped: standard error was full"
    guard isJSON.load(ordering: .relaxed) else { return text }
    return "{\"at\":\"\(SystemClock.wallTime())\",\"level\":\"warning\",\"message\":"
      + jsonText(text) + ",\"dropped\":\(count)}"
  }

  private static func send(_ line: String) {
    let bytes = Array(line.utf8.prefix(lineBytesMax)) + [UInt8(ascii: "\n")]
    // An error is ignored: there is no other place to report it.
    // SAFETY: the buffer is valid during the call, and `count` is its size.
    _ = unsafe bytes.withUnsafeBytes { buffer in
      unsafe Glibc.write(STDERR_FILENO, buffer.baseAddress, buffer.count)
    }
  }

  private static var isWritable: Bool {
    var state = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    // SAFETY: `state` is one pollfd, and the count is 1.
    return unsafe poll(&state, 1, 0) == 1 && Int32(state.revents) & POLLOUT != 0
  }
}

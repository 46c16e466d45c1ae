import Logging
import Synchronization

/// Collects log lines with their metadata.
final class LogBook: Sendable {
  private let kept = Mutex<[String]>([])

  var logger: Logger { Logger(label: "test") { _ in BookHandler(book: self) } }

  func add(_ line: String) { kept.withLock { $0.append(line) } }
  func lines(with text: String) -> [String] { kept.withLock { $0.filter { $0.contains(text) } } }

  func first(with text: String) async throws -> String {
    while true {
      if let line = lines(with: text).first { return line }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}

private struct BookHandler: LogHandler {
  let book: LogBook
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }
    book.add(fields.reduce("\(event.message)") { "\($0) \($1.key)=\($1.value)" })
  }
}

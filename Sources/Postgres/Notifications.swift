/// The notifications that a connection has received and that were not taken yet.
struct Notifications {
  /// Notifications that wait, of at most 8 kB each. Above it all are dropped, which counts as a new
  /// LISTEN.
  static let waitingMax = 4_096

  /// A LISTEN statement, sent on each new connection.
  let statement: StaticString?
  /// The number of times LISTEN succeeded, or notifications were dropped; notifications before each
  /// may have been missed.
  private(set) var listens = 0
  private(set) var isListening = false
  private var payloads = FIFO<String>()

  init(statement: StaticString?) { self.statement = statement }

  mutating func begin() {
    isListening = true
    listens += 1
  }

  mutating func end() { isListening = false }

  mutating func append(_ payload: String) {
    payloads.append(payload)
    guard payloads.count > Notifications.waitingMax else { return }
    payloads = FIFO()
    listens += 1
  }

  var isEmpty: Bool { payloads.isEmpty }

  mutating func next() -> String? { payloads.popFirst() }
}

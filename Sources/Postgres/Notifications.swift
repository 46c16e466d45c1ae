/// The notifications that a connection has received and that were not taken yet.
struct Notifications {
  /// A LISTEN statement, sent on each new connection.
  let statement: StaticString?
  /// The number of times LISTEN succeeded; notifications before each may have been missed.
  private(set) var listens = 0
  private(set) var isListening = false
  private var payloads = FIFO<String>()

  init(statement: StaticString?) { self.statement = statement }

  mutating func begin() {
    isListening = true
    listens += 1
  }

  mutating func end() { isListening = false }

  mutating func append(_ payload: String) { payloads.append(payload) }

  mutating func next() -> String? { payloads.popFirst() }
}

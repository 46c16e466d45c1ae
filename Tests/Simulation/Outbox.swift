import Primitives

/// A message that its sender keeps until it is acked or finally refused.
struct Pending {
  var session: Identifier
  var id: Identifier
  var kind: String
  var body: String
  /// The ref of the command while it is in flight.
  var ref: Int?
  /// The earliest time to send it, in microseconds.
  var notBefore: Int64 = 0
}

/// The unsettled messages of one client, in order. Each session has its own queue, in which no
/// message overtakes one that must be repeated.
struct Outbox {
  private var items: [Pending] = []
  private var lastAcked: Pending?

  var isEmpty: Bool { items.isEmpty }
  var count: Int { items.count }

  func holds(_ session: Identifier) -> Bool { items.contains { $0.session == session } }

  mutating func append(_ pending: Pending) { items.append(pending) }

  /// Repeats an acked message, as after a crash of the page before it has recorded the ack.
  mutating func repeatLastAcked(in sessions: [Identifier]) {
    guard let lastAcked, sessions.contains(lastAcked.session),
      !items.contains(where: { $0.id == lastAcked.id })
    else { return }
    items.append(lastAcked)
  }

  func pending(_ ref: Int) -> Pending? { items.first { $0.ref == ref } }

  func nextToSend(_ open: Set<Identifier>, window: Int, now: Int64) -> Pending? {
    guard items.count(where: { $0.ref != nil }) < window else { return nil }
    var blocked: Set<Identifier> = []
    for item in items
    where item.ref == nil && open.contains(item.session) && !blocked.contains(item.session) {
      if item.notBefore <= now { return item }
      blocked.insert(item.session)
    }
    return nil
  }

  mutating func sent(_ id: Identifier, ref: Int) {
    guard let index = items.firstIndex(where: { $0.id == id && $0.ref == nil }) else { return }
    items[index].ref = ref
  }

  mutating func acked(_ ref: Int?) {
    guard let index = items.firstIndex(where: { $0.ref == ref }) else { return }
    var item = items.remove(at: index)
    item.ref = nil
    item.notBefore = 0
    lastAcked = item
  }

  mutating func dropped(_ ref: Int) { items.removeAll { $0.ref == ref } }

  /// Marks a message and all later ones of its session to be repeated in order.
  mutating func failed(_ ref: Int, until: Int64) {
    guard let index = items.firstIndex(where: { $0.ref == ref }) else { return }
    items[index].notBefore = until
    let session = items[index].session
    for later in index..<items.count where items[later].session == session {
      items[later].ref = nil
    }
  }

  mutating func connectionLost() {
    for index in items.indices { items[index].ref = nil }
  }
}

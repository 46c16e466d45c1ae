/// The verifier's state: for each session the id at each seq, as acks and subscribers reported it.
///
/// Pure and small: 24 bytes per message, independent of the number of subscribers. Invariant: the
/// first report of a seq fills its slot, and every later report must agree.
import Primitives

struct Violations: Sendable, Equatable, Codable {
  enum Kind: String, CaseIterable, Sendable, Codable {
    /// Acknowledged or committed, but missing in the database, or at a subscriber after the drain.
    case lost
    /// Delivered twice to a subscriber, or stored twice.
    case duplicated
    /// Messages of one sender, stored in another order than it made them.
    case reordered
    /// A subscriber received a seq beyond the next one.
    case holes
    /// Two contradicting reports: another id at a seq, or another body of an id.
    case mismatched
  }

  private(set) var counts: [Kind: Int] = [:]
  /// The first few violations as text.
  private(set) var examples: [String] = []
  private static let examplesMax = 20

  subscript(kind: Kind) -> Int { counts[kind, default: 0] }

  var isEmpty: Bool { counts.isEmpty }

  var total: Int { counts.values.reduce(0, +) }

  /// All kinds, with their counts.
  var byName: [String: Int] {
    Dictionary(uniqueKeysWithValues: Kind.allCases.map { ($0.rawValue, self[$0]) })
  }

  mutating func note(_ kind: Kind, count: Int = 1, _ text: @autoclosure () -> String) {
    counts[kind, default: 0] += count
    if examples.count < Violations.examplesMax { examples.append("\(kind.rawValue): \(text())") }
  }

  mutating func add(_ other: Violations) {
    counts.merge(other.counts, uniquingKeysWith: +)
    examples += other.examples.prefix(Violations.examplesMax - examples.count)
  }
}

struct Ledger {
  struct Slot: Equatable {
    /// Zero before the first report with an id; the placeholder of a note has none.
    var id = Identifier.zero
    var acked = false
  }

  struct Log {
    let session: Identifier
    /// The seq of `slots[0]`; the log is complete from there.
    var first = 1
    var slots: [Slot] = []

    var head: Int { first + slots.count - 1 }
  }

  /// A seq this far beyond the first is an error, not a long conversation.
  private static let slotsMax = 1 << 24

  private(set) var logs: [Log]
  var violations = Violations()
  /// Ids with a final error as answer, which must never be stored.
  private var refused: Set<Identifier> = []

  init(sessions: [Identifier]) { logs = sessions.map { Log(session: $0) } }

  mutating func acked(_ session: Int, seq: Int, id: Identifier) {
    guard let index = slot(session, seq) else { return }
    report(session, index, id)
    logs[session].slots[index].acked = true
  }

  /// A subscriber received `id` at `seq`; nil for the placeholder of a note.
  mutating func shown(_ session: Int, seq: Int, id: Identifier?) {
    guard let index = slot(session, seq), let id else { return }
    report(session, index, id)
  }

  mutating func refused(_ id: Identifier) { refused.insert(id) }

  /// Verifies every sender's order, and that no id is at two places. `made` returns the number of
  /// messages that a client made.
  mutating func close(stamp: Stamp, made: (Int) -> Int) {
    for log in logs {
      var lastNumber: [Int: Int] = [:]
      for (offset, slot) in log.slots.enumerated() where stamp.isOwn(slot.id) {
        let client = stamp.client(of: slot.id)
        let number = stamp.number(of: slot.id)
        let place = "session \(log.session) seq \(log.first + offset) id \(slot.id)"
        if number >= made(client) { violations.note(.mismatched, "\(place) was never sent") }
        if refused.contains(slot.id) { violations.note(.mismatched, "\(place) had been refused") }
        let last = lastNumber[client, default: -1]
        if number > last {
          lastNumber[client] = number
        } else if log.slots[..<offset].contains(where: { $0.id == slot.id }) {
          violations.note(.duplicated, "\(place) is also at an earlier seq")
        } else {
          violations.note(.reordered, "\(place) comes after number \(last) of its sender")
        }
      }
    }
  }

  private mutating func slot(_ session: Int, _ seq: Int) -> Int? {
    let index = seq - logs[session].first
    guard index >= 0, index < Ledger.slotsMax else {
      violations.note(.mismatched, "session \(logs[session].session) has no seq \(seq)")
      return nil
    }
    while logs[session].slots.count <= index { logs[session].slots.append(Slot()) }
    return index
  }

  private mutating func report(_ session: Int, _ index: Int, _ id: Identifier) {
    let known = logs[session].slots[index].id
    if known == .zero {
      logs[session].slots[index].id = id
    } else if known != id {
      let log = logs[session]
      violations.note(
        .mismatched, "session \(log.session) seq \(log.first + index) is \(known) and \(id)")
    }
  }
}

/// The verifier's memory: for each session the id at each seq, as acks and subscribers reported
/// it.
///
/// Pure and small: 24 bytes a message, however many subscribers saw it. Invariant: the first
/// report of a seq fills its slot, and every later report must agree.
import Primitives

struct Violations: Sendable, Equatable, Codable {
  enum Kind: String, CaseIterable, Sendable, Codable {
    /// Acknowledged or committed, and missing: in the database, or at a subscriber when all was
    /// quiet.
    case lost
    /// Shown twice to a subscriber, or stored at two places.
    case duplicated
    /// Messages of one sender stored in another order than it made them.
    case reordered
    /// A subscriber was shown a seq beyond the next one.
    case holes
    /// Two reports that contradict each other: another id at a seq, another body for an id.
    case mismatched
  }

  private(set) var counts: [Kind: Int] = [:]
  /// The first few, in words.
  private(set) var examples: [String] = []
  private static let examplesMax = 20

  subscript(kind: Kind) -> Int { counts[kind, default: 0] }

  var isEmpty: Bool { counts.isEmpty }

  var total: Int { counts.values.reduce(0, +) }

  /// Every kind, also those that did not happen.
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
    /// Zero until somebody names it; a note's place holder never has one.
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

  /// A seq further away than this is a mistake and not a long conversation.
  private static let slotsMax = 1 << 24

  private(set) var logs: [Log]
  var violations = Violations()
  /// Ids that were answered with a final error, which must never turn up.
  private var refused: Set<Identifier> = []

  init(sessions: [Identifier]) { logs = sessions.map { Log(session: $0) } }

  mutating func acked(_ session: Int, seq: Int, id: Identifier) {
    guard let index = slot(session, seq) else { return }
    report(session, index, id)
    logs[session].slots[index].acked = true
  }

  /// A subscriber was shown `id` (nil for a place holder) at `seq`.
  mutating func shown(_ session: Int, seq: Int, id: Identifier?) {
    guard let index = slot(session, seq), let id else { return }
    report(session, index, id)
  }

  mutating func refused(_ id: Identifier) { refused.insert(id) }

  /// The last look: every sender's order, and ids at two places. `made` says how many messages a
  /// client made.
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

import Chat
import Primitives

/// Marks that are newer than the database's, by index in `SessionSnapshot.marks`: stored at most
/// once a second for each session, and not while the store is away. They keep the session in
/// memory until then.
struct UnstoredMarks {
  private var positions: [Int] = []
  /// Sent to PostgreSQL and not answered yet.
  private var underWay = 0
  private var storedAt = Instant.zero

  var areNone: Bool { positions.isEmpty && underWay == 0 }

  mutating func add(_ position: Int) {
    if !positions.contains(position) { positions.append(position) }
  }

  /// Positions in a log that is gone.
  mutating func removeAll() { positions.removeAll() }

  /// Those that are due, which are under way from now on.
  mutating func takeDue(_ now: Instant) -> [Int] {
    guard !positions.isEmpty, underWay == 0,
      now.milliseconds(since: storedAt) >= Limits.markIntervalMilliseconds
    else { return [] }
    storedAt = now
    underWay = positions.count
    defer { positions.removeAll() }
    return positions
  }

  mutating func answered() { underWay -= 1 }
}

extension Session {
  /// On the owner: marks only grow, and never beyond the head. Answers the new mark, nil when
  /// nothing grew.
  mutating func raise(_ request: Mark) -> (mark: Mark, isReadNew: Bool)? {
    let read = min(request.read, head)
    let delivered = min(request.delivered, head)
    let position: Int
    if let known = indexOfMark(of: request.person.id) {
      position = known
    } else {
      position = snapshot.marks.count
      snapshot.marks.append(Mark(person: request.person, read: 0, delivered: 0))
    }
    let old = snapshot.marks[position]
    guard read > old.read || delivered > old.delivered else { return nil }
    snapshot.marks[position].read = max(read, old.read)
    snapshot.marks[position].delivered = max(delivered, old.delivered)
    unstoredMarks.add(position)
    return (snapshot.marks[position], read > old.read)
  }

  /// On a follower: the owner's mark. On the owner: another gateway's.
  mutating func adopt(_ mark: Mark) {
    if let known = indexOfMark(of: mark.person.id) {
      snapshot.marks[known] = mark
    } else {
      snapshot.marks.append(mark)
    }
  }

  /// The higher of a mark that was read from the database and the one known here; nil when the
  /// database's is not higher.
  func higher(_ mark: Mark) -> Mark? {
    let known = indexOfMark(of: mark.person.id).map { snapshot.marks[$0] }
    guard mark.read > known?.read ?? 0 || mark.delivered > known?.delivered ?? 0 else {
      return nil
    }
    var higher = mark
    higher.read = max(mark.read, known?.read ?? 0)
    higher.delivered = max(mark.delivered, known?.delivered ?? 0)
    return higher
  }

  /// PostgreSQL's answer. A mark that was not stored is stored again.
  mutating func markStored(_ mark: Mark, isStored: Bool) {
    unstoredMarks.answered()
    if !isStored, let position = indexOfMark(of: mark.person.id) { unstoredMarks.add(position) }
  }

  private func indexOfMark(of person: Identifier) -> Int? {
    snapshot.marks.firstIndex { $0.person.id == person }
  }
}

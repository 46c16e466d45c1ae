import Chat
import Primitives

/// The marks that are newer than the stored ones. They are stored once in
/// `Limits.markIntervalMilliseconds` for each session, while the store answers. Until then they
/// keep the session in memory.
struct UnstoredMarks {
  private var marks: [MarkIndex] = []
  /// Marks whose writes are in flight.
  private var inFlight = 0
  private var storedAt = Instant.zero

  var isEmpty: Bool { marks.isEmpty && inFlight == 0 }

  mutating func add(_ mark: MarkIndex) {
    if !marks.contains(mark) { marks.append(mark) }
  }

  /// Forgets the marks of a log that is gone.
  mutating func removeAll() { marks.removeAll() }

  /// Takes the due marks, whose writes are then in flight.
  mutating func takeDue(_ now: Instant) -> [MarkIndex] {
    guard !marks.isEmpty, inFlight == 0,
      now.milliseconds(since: storedAt) >= Limits.markIntervalMilliseconds
    else { return [] }
    storedAt = now
    inFlight = marks.count
    defer { marks.removeAll() }
    return marks
  }

  /// Call it for each finished write.
  mutating func writeEnded() { inFlight -= 1 }
}

extension Session {
  /// On the owner: raises a mark. Marks only grow, and never beyond the head. Returns the new mark,
  /// or nil when it did not grow.
  mutating func raise(_ request: Mark) -> (mark: Mark, isReadNew: Bool)? {
    let read = min(request.read, head)
    let delivered = min(request.delivered, head)
    let index: MarkIndex
    if let known = indexOfMark(of: request.person.id) {
      index = known
    } else {
      index = MarkIndex(value: snapshot.marks.count)
      snapshot.marks.append(Mark(person: request.person, read: 0, delivered: 0))
    }
    let old = snapshot.marks[index.value]
    guard read > old.read || delivered > old.delivered else { return nil }
    snapshot.marks[index.value].read = max(read, old.read)
    snapshot.marks[index.value].delivered = max(delivered, old.delivered)
    unstoredMarks.add(index)
    return (snapshot.marks[index.value], read > old.read)
  }

  /// Replaces a mark: on a following loop by the owner's, on the owner by another gateway's.
  mutating func adopt(_ mark: Mark) {
    if let known = indexOfMark(of: mark.person.id) {
      snapshot.marks[known.value] = mark
    } else {
      snapshot.marks.append(mark)
    }
  }

  /// The maximum of a stored mark and the one in memory, or nil when the stored one is not higher.
  func higher(_ mark: Mark) -> Mark? {
    let known = indexOfMark(of: mark.person.id).map { snapshot.marks[$0.value] }
    guard mark.read > known?.read ?? 0 || mark.delivered > known?.delivered ?? 0 else {
      return nil
    }
    var higher = mark
    higher.read = max(mark.read, known?.read ?? 0)
    higher.delivered = max(mark.delivered, known?.delivered ?? 0)
    return higher
  }

  /// Call it when a write has ended. A mark that was not stored is due again.
  mutating func markStored(_ mark: Mark, isStored: Bool) {
    unstoredMarks.writeEnded()
    if !isStored, let index = indexOfMark(of: mark.person.id) { unstoredMarks.add(index) }
  }

  private func indexOfMark(of person: Identifier) -> MarkIndex? {
    snapshot.marks.firstIndex { $0.person.id == person }.map { MarkIndex(value: $0) }
  }
}

extension SessionTable {
  /// Requests that the due marks of a session be stored.
  mutating func storeMarks(_ session: SessionIndex, _ effects: inout Effects, now: Instant) {
    guard self[session].isOwned else { return }
    for mark in self[session].unstoredMarks.takeDue(now) {
      effects.read(
        .storeMark(
          session: loadedID(at: session), self[session].id,
          workspace: self[session].snapshot.workspace, self[session].snapshot.marks[mark.value]))
    }
  }

  /// The response to `ReadRequest.storeMark`.
  mutating func markStored(
    _ request: ReadRequest, isStored: Bool, _ effects: inout Effects
  ) {
    guard case .storeMark(let id, _, _, let mark) = request, contains(id) else { return }
    self[id.index].markStored(mark, isStored: isStored)
    if isStored, effects.hasPeers {
      effects.noteChange(self[id.index].id, self[id.index].snapshot.workspace)
    }
  }
}

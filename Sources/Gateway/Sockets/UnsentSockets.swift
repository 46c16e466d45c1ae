/// Sockets with output for the next flush, in order. A socket may be in it twice.
struct UnsentSockets {
  private var ids: [SocketID] = []

  /// Check it before `take`, which returns a reference-counted array even when it is empty.
  var isEmpty: Bool { ids.isEmpty }

  mutating func append(_ id: SocketID) { ids.append(id) }

  mutating func take() -> [SocketID] {
    guard !ids.isEmpty else { return [] }
    defer { ids.removeAll(keepingCapacity: true) }
    return ids
  }

  /// Puts back those for which the turn had no time, before all others.
  mutating func putBack(_ rest: ArraySlice<SocketID>) { ids.insert(contentsOf: rest, at: 0) }
}

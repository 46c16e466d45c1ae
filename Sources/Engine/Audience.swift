import Chat
public import Primitives
import Wire

/// The visitors of this loop who wait in line, and what each was told last. Only the loop that owns
/// a session tells its visitor.
struct Audience {
  /// Positions by session, by workspace; -1 when none was told yet.
  var positions: [Identifier: [Identifier: Int64]] = [:]
}

/// The line of a workspace, as far as one loop tells it.
public struct LineMail: Sendable {
  public var workspace: Identifier
  /// Those who wait, whose sessions this loop owns: the position of each, 1 is next.
  public var positions: [Identifier: Int64]
  /// How long one place takes, as of late; nil when too little is known.
  public var placeMilliseconds: Int64?

  public init(
    workspace: Identifier, positions: [Identifier: Int64], placeMilliseconds: Int64?
  ) {
    self.workspace = workspace
    self.positions = positions
    self.placeMilliseconds = placeMilliseconds
  }
}

extension Engine {
  /// A visitor looks at a session that waits: he is told its place, now and when it changes.
  mutating func joinAudience(_ index: Int) {
    guard sessions[index].isOwned, sessions[index].snapshot.status == .waiting else { return }
    let workspace = sessions[index].snapshot.workspace
    audience.positions[workspace, default: [:]][sessions[index].id] = -1
    tell(workspace, sessions[index].id, .audience(true))
  }

  /// Tells whom it concerns, and forgets who waits no longer or has left.
  mutating func showLine(_ line: LineMail) {
    guard var told = audience.positions.removeValue(forKey: line.workspace) else { return }
    for (session, last) in told {
      guard let index = sessionIndex[session], sessions[index].phase == .ready,
        hasVisitor(index)
      else {
        told[session] = nil
        continue
      }
      let position = line.positions[session] ?? 0
      // In line only from the first message on: before that nothing is said.
      if position != last, position > 0 || last > 0 {
        tell(position, line.placeMilliseconds, index)
      }
      let isOver = position == 0 && sessions[index].snapshot.status != .waiting
      told[session] = isOver ? nil : position
    }
    if told.isEmpty {
      tell(line.workspace, nil, .audience(false))
    } else {
      audience.positions[line.workspace] = told
    }
  }

  private mutating func tell(_ position: Int64, _ placeMilliseconds: Int64?, _ index: Int) {
    let wait = position == 0 ? nil : placeMilliseconds.map { $0 * position }
    tellSubscribers(
      index,
      includes: { engine, slot in
        engine.connections[slot].isVisitor && !engine.connections[slot].isBlocked
          && engine.connections[slot].outbox.count < Limits.outputSoftBytes
      }
    ) { EventEncoder.queue(session: $0.id, position: position, waitMilliseconds: wait, to: &$1) }
  }
}

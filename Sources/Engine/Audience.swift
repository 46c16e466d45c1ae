import Chat
public import Primitives
import Wire

/// The visitors of this loop who wait in line; what each was told last stands in its session. Only
/// the loop that owns a session tells its visitor.
struct Audience {
  /// By workspace. A session stands here once, while `told` says that it does; one that
  /// has left memory since is passed over.
  var sessions: [Identifier: [LoadedSessionID]] = [:]
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
  mutating func joinAudience(_ index: SessionIndex) {
    guard sessions[index].isOwned, sessions[index].snapshot.status == .waiting else { return }
    let workspace = sessions[index].snapshot.workspace
    if sessions[index].told == Session.notInAudience {
      // Those of slots that were freed, should nobody have asked for the line for long.
      if audience.sessions[workspace]?.count ?? 0 > 2 * sessions.indices.count {
        audience.sessions[workspace]?.removeAll { !sessions.contains($0) }
      }
      audience.sessions[workspace, default: []].append(sessions.loadedID(at: index))
    }
    sessions[index].told = Session.nothingTold
    effects.report(workspace, sessions[index].id, .audience(true))
  }

  /// Tells whom it concerns, and forgets who waits no longer or has left.
  mutating func showLine(_ line: LineMail) {
    guard var members = audience.sessions.removeValue(forKey: line.workspace) else { return }
    var kept = 0
    for id in members where sessions.contains(id) {
      let index = id.index
      guard sessions[index].phase == .ready, hasVisitor(index) else {
        sessions[index].told = Session.notInAudience
        continue
      }
      let position = line.positions[sessions[index].id] ?? 0
      let last = sessions[index].told
      // In line only from the first message on: before that nothing is said.
      if position != last, position > 0 || last > 0 {
        tell(position, line.placeMilliseconds, index)
      }
      guard position > 0 || sessions[index].snapshot.status == .waiting else {
        sessions[index].told = Session.notInAudience
        continue
      }
      sessions[index].told = Int32(clamping: position)
      members[kept] = id
      kept += 1
    }
    if kept == 0 {
      effects.report(line.workspace, nil, .audience(false))
    } else {
      members.removeLast(members.count - kept)
      audience.sessions[line.workspace] = members
    }
  }

  private mutating func tell(_ position: Int64, _ placeMilliseconds: Int64?, _ index: SessionIndex)
  {
    let wait = position == 0 ? nil : placeMilliseconds.map { $0 * position }
    tellSubscribers(
      index,
      includes: { engine, connection in
        engine.connections[connection].isVisitor && !engine.connections[connection].isBlocked
          && engine.connections[connection].outbox.count < Limits.outputSoftBytes
      }
    ) { EventEncoder.queue(session: $0.id, position: position, waitMilliseconds: wait, to: &$1) }
  }
}

import Chat
public import Primitives
import Wire

/// The waiting visitors of this loop, and the queue position that each was sent last. Only the loop
/// that owns a session sends its visitor's.
struct QueuePositionSubscribers {
  /// By workspace. A session stands here once, while its `queuePosition` says that it does; one
  /// that has left memory since is passed over.
  private var sessionsByWorkspace: [Identifier: [LoadedSessionID]] = [:]

  /// A visitor looks at a session that waits: they are sent its position, now and when it changes.
  mutating func add(
    _ session: SessionIndex, _ sessions: inout SessionTable, _ effects: inout Effects
  ) {
    guard sessions[session].isOwned, sessions[session].snapshot.status == .waiting else { return }
    let workspace = sessions[session].snapshot.workspace
    if sessions[session].queuePosition == Session.notInQueue {
      // Those that have left memory, should the queue not have been read for long.
      if sessionsByWorkspace[workspace]?.count ?? 0 > 2 * sessions.indices.count {
        sessionsByWorkspace[workspace]?.removeAll { !sessions.contains($0) }
      }
      sessionsByWorkspace[workspace, default: []].append(sessions.loadedID(at: session))
    }
    sessions[session].queuePosition = Session.noPositionSent
    effects.report(workspace, sessions[session].id, .audience(true))
  }

  /// Sends the positions that changed, and forgets the sessions that wait no longer or whose
  /// visitor has left.
  mutating func show(
    _ queue: QueueUpdate, _ sessions: inout SessionTable, _ connections: inout ConnectionTable,
    _ fanOut: inout FanOut, _ effects: inout Effects
  ) {
    guard var members = sessionsByWorkspace.removeValue(forKey: queue.workspace) else { return }
    var kept = 0
    for id in members where sessions.contains(id) {
      let session = id.index
      guard sessions[session].phase == .ready, connections.hasVisitor(session, sessions) else {
        sessions[session].queuePosition = Session.notInQueue
        continue
      }
      let position = queue.positions[sessions[session].id] ?? 0
      let last = sessions[session].queuePosition
      // In the queue only from the first message on: before that nothing is sent.
      if position != last, position > 0 || last > 0 {
        QueuePositionSubscribers.send(
          position, queue.placeMilliseconds, session, sessions, &connections, &fanOut)
      }
      guard position > 0 || sessions[session].snapshot.status == .waiting else {
        sessions[session].queuePosition = Session.notInQueue
        continue
      }
      sessions[session].queuePosition = Int32(clamping: position)
      members[kept] = id
      kept += 1
    }
    if kept == 0 {
      effects.report(queue.workspace, nil, .audience(false))
    } else {
      members.removeLast(members.count - kept)
      sessionsByWorkspace[queue.workspace] = members
    }
  }

  private static func send(
    _ position: Int64, _ placeMilliseconds: Int64?, _ session: SessionIndex,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ fanOut: inout FanOut
  ) {
    let wait = position == 0 ? nil : placeMilliseconds.map { $0 * position }
    fanOut.sendToSubscribers(
      session, sessions, &connections, includes: { $0[$1].isVisitor && !$0[$1].isBehind }
    ) { EventEncoder.queue(session: $0.id, position: position, waitMilliseconds: wait, to: &$1) }
  }

  /// What is wrong, or nil; for the simulator and the fuzzer.
  func inconsistency(_ sessions: borrowing SessionTable) -> String? {
    var found = 0
    for (workspace, members) in sessionsByWorkspace {
      guard members.count <= 2 * sessions.indices.count + 1 else {
        return "a list of waiting sessions that only grows"
      }
      for id in members where sessions.contains(id) {
        guard sessions[id.index].queuePosition != Session.notInQueue,
          sessions[id.index].snapshot.workspace == workspace
        else { return "a session in a queue that does not know it" }
        found += 1
      }
    }
    for session in sessions.indices
    where sessions.isOccupied(session) && sessions[session].queuePosition != Session.notInQueue {
      found -= 1
    }
    return found == 0 ? nil : "a session that is in no queue, or in two"
  }
}

/// The queue of a workspace, as far as one loop sends it.
public struct QueueUpdate: Sendable {
  public var workspace: Identifier
  /// Of the waiting sessions that this loop owns; 1 is next.
  public var positions: [Identifier: Int64]
  /// How long one place has taken lately; nil when too little is known.
  public var placeMilliseconds: Int64?

  public init(
    workspace: Identifier, positions: [Identifier: Int64], placeMilliseconds: Int64?
  ) {
    self.workspace = workspace
    self.positions = positions
    self.placeMilliseconds = placeMilliseconds
  }
}

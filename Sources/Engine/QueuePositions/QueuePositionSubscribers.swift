import Chat
public import Primitives
import Wire

/// The sessions whose visitors receive their position in the queue. Only the loop that owns a
/// session sends it; `Session.queuePosition` keeps the last one.
struct QueuePositionSubscribers {
  /// By workspace. A session is listed once, exactly while its `queuePosition` is not
  /// `.notInQueue`; a listed session that has left memory is skipped.
  private var sessionsByWorkspace: [Identifier: [LoadedSessionID]] = [:]
  /// By workspace, the paces of the last update: a new one changes every estimate of its line.
  private var paces: [Identifier: [Identifier: Int64]] = [:]

  /// Call it when a visitor follows a session. If it is waiting, they receive its position, now and
  /// when it changes.
  mutating func add(
    _ session: SessionIndex, _ sessions: inout SessionTable, _ effects: inout Effects
  ) {
    guard sessions[session].isOwned, sessions[session].snapshot.status == .waiting else { return }
    let workspace = sessions[session].snapshot.workspace
    if sessions[session].queuePosition == Session.notInQueue {
      // Sessions that have left memory accumulate while no `QueueUpdate` comes.
      if sessionsByWorkspace[workspace]?.count ?? 0 > 2 * sessions.indices.count {
        sessionsByWorkspace[workspace]?.removeAll { !sessions.contains($0) }
      }
      sessionsByWorkspace[workspace, default: []].append(sessions.loadedID(at: session))
    }
    sessions[session].queuePosition = Session.noPositionSent
    effects.report(workspace, sessions[session].id, .positionSubscribers(true))
  }

  /// Sends the positions and estimates that changed, and removes sessions that no longer wait or
  /// whose visitor has left.
  mutating func show(
    _ queue: QueueUpdate, _ sessions: inout SessionTable, _ connections: inout ConnectionTable,
    _ fanOut: inout FanOut, _ effects: inout Effects
  ) {
    guard var members = sessionsByWorkspace.removeValue(forKey: queue.workspace) else { return }
    let previous = paces.updateValue(queue.placeMilliseconds, forKey: queue.workspace) ?? [:]
    var kept = 0
    for id in members where sessions.contains(id) {
      let session = id.index
      guard sessions[session].phase == .ready, Presence.hasVisitor(session, sessions, connections)
      else {
        sessions[session].queuePosition = Session.notInQueue
        continue
      }
      let place = queue.places[sessions[session].id]
      let position = place?.position ?? 0
      let pace = place.flatMap { queue.placeMilliseconds[$0.line] }
      let hasNewPace = place.map { previous[$0.line] != pace } ?? false
      let last = sessions[session].queuePosition
      // A session enters the queue with its first message. Before, no position is sent.
      if position != last ? position > 0 || last > 0 : hasNewPace {
        QueuePositionSubscribers.send(
          position, pace, session, sessions, &connections, &fanOut)
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
      paces[queue.workspace] = nil
      effects.report(queue.workspace, nil, .positionSubscribers(false))
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

  /// The first invariant that does not hold, or nil; for the simulator and the fuzzer.
  func inconsistency(_ sessions: borrowing SessionTable) -> String? {
    var found = 0
    for (workspace, members) in sessionsByWorkspace {
      guard members.count <= 2 * sessions.indices.count + 1 else {
        return "an unbounded list of waiting sessions"
      }
      for id in members where sessions.contains(id) {
        guard sessions[id.index].queuePosition != Session.notInQueue,
          sessions[id.index].snapshot.workspace == workspace
        else { return "a listed session that is not in the queue" }
        found += 1
      }
    }
    for session in sessions.indices
    where sessions.isOccupied(session) && sessions[session].queuePosition != Session.notInQueue {
      found -= 1
    }
    return found == 0 ? nil : "a session that is not listed once"
  }
}

/// The queue of a workspace, for the sessions that one loop owns.
public struct QueueUpdate: Sendable {
  public struct Place: Sendable {
    /// 1 is next.
    public var position: Int64
    /// The id of the team, or of the workspace for conversations without one.
    public var line: Identifier

    public init(position: Int64, line: Identifier) {
      self.position = position
      self.line = line
    }
  }

  public var workspace: Identifier
  /// By session.
  public var places: [Identifier: Place]
  /// By line, the recent time for one position; a line with too few samples has none.
  public var placeMilliseconds: [Identifier: Int64]

  public init(
    workspace: Identifier, places: [Identifier: Place], placeMilliseconds: [Identifier: Int64]
  ) {
    self.workspace = workspace
    self.places = places
    self.placeMilliseconds = placeMilliseconds
  }
}

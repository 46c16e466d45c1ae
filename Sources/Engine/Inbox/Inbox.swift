import Chat
public import Primitives
import Wire

/// The operators' list of conversations, live. When a session changes, its owner reads its row from
/// the database and sends it to every loop with a watcher of the workspace. The rate is limited,
/// for each session and in total.
public struct Inbox {
  /// The watching connections of this loop, by workspace.
  private var watchers: [Identifier: [ConnectionID]] = [:]
  /// The loops with watchers, including this one, by workspace.
  private var loops: [Identifier: LoopSet] = [:]
  /// Sessions whose row changed, with the earliest time to read it, in ascending order.
  private var due = Fifo<(session: Identifier, workspace: Identifier, at: Instant)>()
  private var isDue: Set<Identifier> = []
  private var readsInFlight = 0
  /// An operator has started to watch, or to see the console, since `takeNewOperators`.
  private var hasNewWatcher = false
  /// Operators who have stopped watching on a connection since `takeDepartures`.
  private var departures: [(workspace: Identifier, operator: Identifier)] = []
  /// Operators of whom a visible console was hidden or has stopped watching since `takeHidden`.
  private var hidden: [(workspace: Identifier, operator: Identifier)] = []

  /// Concurrent reads of rows.
  private static let readsMax = 32

  /// Whether any loop has a watcher of any workspace.
  var hasWatchers: Bool { !loops.isEmpty }
  /// Whether no connection of this loop watches.
  var isEmpty: Bool { watchers.isEmpty }
  /// The workspaces that connections of this loop watch.
  public var watchedWorkspaces: [Identifier] { Array(watchers.keys) }

  /// The command `watch`.
  mutating func watch(
    _ connection: ConnectionIndex, _ command: Command, _ connections: inout ConnectionTable,
    _ effects: inout Effects
  ) {
    guard let member = connections[connection].member else { return }
    guard member.isOperator else {
      connections.refuse(connection, command.ref, .forbidden)
      return
    }
    if command.inbox == false {
      stopWatching(connection, &connections, &effects)
    } else if !connections[connection].isWatching {
      connections[connection].isWatching = true
      hasNewWatcher = true
      if watchers[member.workspace, default: []].isEmpty {
        announce(member.workspace, true, &effects)
      }
      watchers[member.workspace, default: []].append(connections.id(at: connection))
    }
    if connections[connection].isWatching {
      setVisible(connection, command.active ?? true, member, &connections)
    }
    connections.confirm(connection, command.ref)
  }

  private mutating func setVisible(
    _ connection: ConnectionIndex, _ isVisible: Bool, _ member: Member,
    _ connections: inout ConnectionTable
  ) {
    guard connections[connection].isVisible != isVisible else { return }
    connections[connection].isVisible = isVisible
    if isVisible {
      hasNewWatcher = true
    } else if hidden.count < Limits.departedOperators {
      hidden.append((member.workspace, member.person.id))
    }
  }

  /// Ends the watching of a connection, if it watches.
  mutating func stopWatching(
    _ connection: ConnectionIndex, _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard connections[connection].isWatching, let member = connections[connection].member else {
      return
    }
    connections[connection].isWatching = false
    setVisible(connection, false, member, &connections)
    if departures.count < Limits.departedOperators {
      departures.append((member.workspace, member.person.id))
    }
    let id = connections.id(at: connection)
    watchers[member.workspace]?.removeAll { $0 == id }
    if watchers[member.workspace]?.isEmpty ?? false {
      watchers[member.workspace] = nil
      announce(member.workspace, false, &effects)
    }
  }

  private mutating func announce(
    _ workspace: Identifier, _ isOn: Bool, _ effects: inout Effects
  ) {
    noteWatch(workspace, loop: effects.loop, isOn)
    effects.postToOthers(.watch(workspace: workspace, loop: effects.loop, isOn: isOn))
  }

  /// A loop has its first watcher of a workspace, or lost its last.
  mutating func noteWatch(_ workspace: Identifier, loop: Int, _ isOn: Bool) {
    var set = loops[workspace] ?? LoopSet()
    if isOn { set.insert(loop) } else { set.remove(loop) }
    loops[workspace] = set.isEmpty ? nil : set
  }

  /// Schedules a read of the row of a session that changed.
  mutating func touch(_ index: SessionIndex, _ sessions: inout SessionTable, now: Instant) {
    guard sessions[index].isOwned else { return }
    guard sessions[index].phase == .ready else {
      sessions[index].isInboxPending = true
      return
    }
    touch(sessions[index].id, sessions[index].snapshot.workspace, now: now)
  }

  mutating func touch(_ session: Identifier, _ workspace: Identifier, now: Instant) {
    guard loops[workspace] != nil, isDue.insert(session).inserted else { return }
    due.append(
      (session, workspace, now.advanced(byMilliseconds: Limits.inboxIntervalMilliseconds)))
  }

  /// Requests the rows that are due.
  mutating func read(_ effects: inout Effects, now: Instant) {
    while readsInFlight < Inbox.readsMax, let first = due.first, first.at <= now {
      _ = due.popFirst()
      isDue.remove(first.session)
      guard loops[first.workspace] != nil else { continue }
      readsInFlight += 1
      effects.read(.conversation(session: first.session, workspace: first.workspace))
    }
  }

  /// When `read` has something to do next.
  public var nextRead: Instant {
    readsInFlight < Inbox.readsMax ? due.first?.at ?? .never : .never
  }

  /// Sends a row to the watchers.
  /// - Parameter result: the row as JSON, nil inside when the session is gone, a failure when the
  ///   store did not answer.
  mutating func loaded(
    _ session: Identifier, _ workspace: Identifier, _ result: Result<[UInt8]?, LoadFault>,
    _ connections: inout ConnectionTable, _ effects: inout Effects, now: Instant
  ) {
    readsInFlight -= 1
    guard case .success(let json) = result else {
      touch(session, workspace, now: now)
      return
    }
    var frame: [UInt8] = []
    FrameEncoder.appendFrame(.text, to: &frame) {
      EventEncoder.inbox(session: session, conversation: json, to: &$0)
    }
    guard var receivers = loops[workspace] else { return }
    if receivers.contains(effects.loop) { show(workspace, frame, &connections) }
    receivers.remove(effects.loop)
    effects.post(.inbox(workspace: workspace, frame: frame), toEach: receivers)
  }

  /// Sends a row to the watchers of this loop.
  func show(
    _ workspace: Identifier, _ frame: [UInt8], _ connections: inout ConnectionTable
  ) {
    for id in watchers[workspace] ?? [] where connections.contains(id) {
      connections.send(id.index, frame: frame)
    }
  }

  // MARK: Operators

  /// The operators of this loop who watch, each once for each workspace. They are available for
  /// conversations unless the command `available` says otherwise.
  ///
  /// - Parameter areVisible: only those with a visible console.
  public func operators(
    _ connections: borrowing ConnectionTable, areVisible: Bool = false
  ) -> [(workspace: Identifier, operator: Identifier)] {
    var here: [(workspace: Identifier, operator: Identifier)] = []
    for (workspace, watchers) in watchers {
      var seen: Set<Identifier> = []
      for id in watchers where connections.contains(id) {
        if areVisible, !connections[id.index].isVisible { continue }
        guard let person = connections[id.index].member?.person.id, seen.insert(person).inserted
        else { continue }
        here.append((workspace, person))
      }
    }
    return here
  }

  /// Whether an operator has started to watch, or to see the console, since the last call.
  public mutating func takeNewOperators() -> Bool {
    defer { hasNewWatcher = false }
    return hasNewWatcher
  }

  /// The operators who have stopped watching since the last call, and do not watch on another
  /// connection of this loop.
  public mutating func takeDepartures(
    _ connections: borrowing ConnectionTable
  ) -> [(workspace: Identifier, operator: Identifier)] {
    guard !departures.isEmpty else { return [] }
    let here = operators(connections)
    defer { departures = [] }
    return departures.filter { gone in !here.contains { $0 == gone } }
  }

  /// The operators of whom a visible console was hidden or has stopped watching since the last
  /// call, and who see none on another connection of this loop.
  public mutating func takeHidden(
    _ connections: borrowing ConnectionTable
  ) -> [(workspace: Identifier, operator: Identifier)] {
    guard !hidden.isEmpty else { return [] }
    let visible = operators(connections, areVisible: true)
    defer { hidden = [] }
    return hidden.filter { gone in !visible.contains { $0 == gone } }
  }

  /// The command `available`: whether an operator accepts conversations.
  func setAvailable(
    _ connection: ConnectionIndex, _ command: Command, _ connections: inout ConnectionTable,
    _ effects: inout Effects
  ) {
    guard let member = connections[connection].member else { return }
    guard member.isOperator else {
      connections.refuse(connection, command.ref, .forbidden)
      return
    }
    guard let isAvailable = command.available else {
      connections.refuse(
        connection, command.ref, .badFrame,
        sentence: "The command needs available, true or false.", field: "available")
      return
    }
    effects.read(
      .storeAvailability(
        connection: connections.id(at: connection), ref: command.ref, operator: member.person.id,
        workspace: member.workspace, isAvailable))
  }

  /// The response to `ReadRequest.storeAvailability`.
  /// - Parameter retryAfter: in milliseconds.
  func availabilityStored(
    _ request: ReadRequest, isStored: Bool, retryAfter: Int64,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard
      case .storeAvailability(let id, let ref, _, let workspace, let isAvailable) = request
    else { return }
    if isStored, isAvailable { effects.report(workspace, nil, .operators) }
    guard connections.contains(id), connections.isOpen(id.index) else { return }
    guard isStored else {
      connections.refuse(id.index, ref, .unavailable, retryAfter: retryAfter)
      return
    }
    connections.confirm(id.index, ref)
  }
}

import Chat
public import Primitives
import Wire

/// The operators' list of conversations, live. The owner of a session that changed reads its row
/// and sends it to every loop with a watcher of the workspace; how often is bounded for each
/// session and in all.
struct Inbox {
  /// Watching connections of this loop, by workspace.
  var watchers: [Identifier: [SlotID]] = [:]
  /// Loops with watchers, as bits, by workspace; this loop included.
  var loops: [Identifier: UInt64] = [:]
  /// Sessions whose row changed, with the earliest time to read it.
  var due = Fifo<(session: Identifier, workspace: Identifier, at: Instant)>()
  var isDue: Set<Identifier> = []
  var readsInFlight = 0
  /// An operator of this loop has opened it since the driver looked last.
  var hasNewWatcher = false

  /// Rows that are read at once.
  static let readsMax = 32

  var hasWatchers: Bool { !loops.isEmpty }
}

extension Engine {
  mutating func watch(_ slot: Int, _ command: Command) {
    guard let member = connections[slot].member else { return }
    guard member.isOperator else {
      refuse(slot, command.ref, .forbidden)
      return
    }
    if command.inbox == false {
      stopWatching(slot)
    } else if !connections[slot].isWatching {
      connections[slot].isWatching = true
      inbox.hasNewWatcher = true
      if inbox.watchers[member.workspace, default: []].isEmpty {
        announceWatch(member.workspace, true)
      }
      inbox.watchers[member.workspace, default: []].append(connections.id(at: slot))
    }
    FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
      EventEncoder.ok(ref: command.ref, to: &$0)
    }
    markDirty(slot)
  }

  mutating func stopWatching(_ slot: Int) {
    guard connections[slot].isWatching, let member = connections[slot].member else { return }
    connections[slot].isWatching = false
    let id = connections.id(at: slot)
    inbox.watchers[member.workspace]?.removeAll { $0 == id }
    if inbox.watchers[member.workspace]?.isEmpty ?? false {
      inbox.watchers[member.workspace] = nil
      announceWatch(member.workspace, false)
    }
  }

  private mutating func announceWatch(_ workspace: Identifier, _ isOn: Bool) {
    noteWatch(workspace, loop: loop, isOn)
    for other in 0..<loopCount where other != loop {
      post(.watch(workspace: workspace, loop: loop, isOn: isOn), to: other)
    }
  }

  mutating func noteWatch(_ workspace: Identifier, loop: Int, _ isOn: Bool) {
    var loops = inbox.loops[workspace] ?? 0
    if isOn { loops |= 1 << UInt64(loop) } else { loops &= ~(1 << UInt64(loop)) }
    inbox.loops[workspace] = loops == 0 ? nil : loops
  }

  /// The session's row changed.
  mutating func touchInbox(_ index: Int) {
    guard sessions[index].isOwned else { return }
    guard sessions[index].phase == .ready else {
      sessions[index].isInboxPending = true
      return
    }
    touchInbox(sessions[index].id, sessions[index].snapshot.workspace)
  }

  /// Nobody follows the session, but operators' lists want to know: its workspace is known from who
  /// has just stored something in it, or once it has loaded.
  mutating func tellInbox(ofCold session: Identifier, of workspace: Identifier?) {
    guard inbox.hasWatchers else { return }
    if let workspace { return touchInbox(session, workspace) }
    guard let index = warm(session, of: nil) else { return }
    sessions[index].isInboxPending = true
  }

  mutating func touchInbox(_ session: Identifier, _ workspace: Identifier) {
    guard inbox.loops[workspace] != nil, inbox.isDue.insert(session).inserted else { return }
    inbox.due.append(
      (session, workspace, now.advanced(byMilliseconds: Limits.inboxIntervalMilliseconds)))
  }

  /// Asks for the rows whose time has come. All wait equally long, so the first is always the
  /// earliest.
  public mutating func readInbox() {
    while inbox.readsInFlight < Inbox.readsMax, let first = inbox.due.first, first.at <= now {
      _ = inbox.due.popFirst()
      inbox.isDue.remove(first.session)
      guard inbox.loops[first.workspace] != nil else { continue }
      inbox.readsInFlight += 1
      reads.append(.conversation(session: first.session, workspace: first.workspace))
    }
  }

  /// When `readInbox` has something to do next.
  public var nextInboxRead: Instant {
    inbox.readsInFlight < Inbox.readsMax ? inbox.due.first?.at ?? .never : .never
  }

  /// The answer to `ReadRequest.conversation`: the row as JSON, nil inside when the session is
  /// gone, a failure when the store did not answer.
  public mutating func conversationLoaded(
    _ session: Identifier, _ workspace: Identifier, _ result: Result<[UInt8]?, LoadFault>
  ) {
    inbox.readsInFlight -= 1
    guard case .success(let json) = result else {
      touchInbox(session, workspace)
      return
    }
    var frame: [UInt8] = []
    FrameEncoder.appendFrame(.text, to: &frame) {
      EventEncoder.inbox(session: session, conversation: json, to: &$0)
    }
    let loops = inbox.loops[workspace] ?? 0
    forEachLoop(loops) { engine, loop in
      if loop == engine.loop {
        engine.showInbox(workspace, frame)
      } else {
        engine.post(.inbox(workspace: workspace, frame: frame), to: loop)
      }
    }
  }

  mutating func showInbox(_ workspace: Identifier, _ frame: [UInt8]) {
    for id in inbox.watchers[workspace] ?? [] where connections.contains(id) {
      let slot = Int(id.index)
      connections[outbox: slot].append(contentsOf: frame)
      markDirty(slot)
    }
  }
}

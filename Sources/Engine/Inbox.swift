import Chat
public import Primitives
import Wire

/// The operators' list of conversations, live. The owner of a session that changed reads its row
/// and sends it to every loop with a watcher of the workspace; how often is bounded for each
/// session and in all.
struct Inbox {
  /// Watching connections of this loop, by workspace.
  var watchers: [Identifier: [ConnectionID]] = [:]
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
  mutating func watch(_ connection: ConnectionIndex, _ command: Command) {
    guard let member = connections[connection].member else { return }
    guard member.isOperator else {
      connections.refuse(connection, command.ref, .forbidden)
      return
    }
    if command.inbox == false {
      stopWatching(connection)
    } else if !connections[connection].isWatching {
      connections[connection].isWatching = true
      inbox.hasNewWatcher = true
      if inbox.watchers[member.workspace, default: []].isEmpty {
        announceWatch(member.workspace, true)
      }
      inbox.watchers[member.workspace, default: []].append(connections.id(at: connection))
    }
    FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
      EventEncoder.ok(ref: command.ref, to: &$0)
    }
    connections.markDirty(connection)
  }

  mutating func stopWatching(_ connection: ConnectionIndex) {
    guard connections[connection].isWatching, let member = connections[connection].member else {
      return
    }
    connections[connection].isWatching = false
    let id = connections.id(at: connection)
    inbox.watchers[member.workspace]?.removeAll { $0 == id }
    if inbox.watchers[member.workspace]?.isEmpty ?? false {
      inbox.watchers[member.workspace] = nil
      announceWatch(member.workspace, false)
    }
  }

  private mutating func announceWatch(_ workspace: Identifier, _ isOn: Bool) {
    noteWatch(workspace, loop: loop, isOn)
    effects.postToOthers(.watch(workspace: workspace, loop: loop, isOn: isOn))
  }

  mutating func noteWatch(_ workspace: Identifier, loop: Int, _ isOn: Bool) {
    var loops = inbox.loops[workspace] ?? 0
    if isOn { loops |= 1 << UInt64(loop) } else { loops &= ~(1 << UInt64(loop)) }
    inbox.loops[workspace] = loops == 0 ? nil : loops
  }

  /// The session's row changed.
  mutating func touchInbox(_ index: SessionIndex) {
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
    guard let index = load(session, of: nil) else { return }
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
      effects.read(.conversation(session: first.session, workspace: first.workspace))
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
    let here: UInt64 = 1 << UInt64(loop)
    if loops & here != 0 { showInbox(workspace, frame) }
    effects.post(.inbox(workspace: workspace, frame: frame), toEach: loops & ~here)
  }

  mutating func showInbox(_ workspace: Identifier, _ frame: [UInt8]) {
    for id in inbox.watchers[workspace] ?? [] where connections.contains(id) {
      let connection = id.index
      connections[outbox: connection].append(contentsOf: frame)
      connections.markDirty(connection)
    }
  }
}

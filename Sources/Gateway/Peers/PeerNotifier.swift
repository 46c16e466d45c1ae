import Chat
import Engine
import Primitives

/// What another gateway announces.
enum PeerChange: Equatable {
  case hello
  case everything
  case session(SessionChange)
  case queue(workspace: Identifier)
  case revocation
}

/// What one loop has changed and the other gateways have not been told yet, and how it is told: as
/// payloads of NOTIFY, at most 8,000 bytes each. A hint where to look, nothing more: the entries
/// and the state are read from the database.
///
/// Payload: words with a space between. The gateway's id first; then `h` (it has just come), `*`
/// (look at everything), `w` and a workspace's id (the following words are about it), `s` and a
/// session's id (it has changed), `q` (the workspace's line has moved). From the database itself,
/// as from a gateway without an id: `r` (somebody was shut out).
struct PeerNotifier {
  /// Sessions that wait to be told; beyond them the others look at everything.
  static let sessionsMax = 4_096
  /// PostgreSQL takes less than 8,000 bytes.
  static let payloadBytes = 7_900

  private var sessions: [Identifier?: Set<Identifier>] = [:]
  private var count = 0
  private var queues: Set<Identifier> = []
  private var isEverything = false

  var isEmpty: Bool { count == 0 && queues.isEmpty && !isEverything }

  mutating func add(_ change: SessionChange) {
    guard count < PeerNotifier.sessionsMax else { return requestScan() }
    if sessions[change.workspace, default: []].insert(change.session).inserted { count += 1 }
  }

  mutating func queueMoved(in workspace: Identifier) {
    guard queues.count < PeerNotifier.sessionsMax else { return requestScan() }
    queues.insert(workspace)
  }

  mutating func requestScan() {
    sessions = [:]
    count = 0
    isEverything = true
  }

  /// What is to be told, as payloads; nothing is left.
  mutating func takePayloads(as gateway: Identifier) -> [String] {
    var payloads: [String] = []
    var payload = "\(gateway)"
    func close() {
      if payload.utf8.count > Identifier.textByteCount { payloads.append(payload) }
      payload = "\(gateway)"
    }
    if isEverything { payload += " *" }
    for (workspace, changed) in sessions {
      let name = workspace.map { " w\($0)" } ?? ""
      // What is about no known workspace stands in front of all others.
      if workspace == nil { close() }
      payload += name
      for session in changed {
        if payload.utf8.count > PeerNotifier.payloadBytes {
          close()
          payload += name
        }
        payload += " s\(session)"
      }
      if payload.utf8.count > PeerNotifier.payloadBytes - 100 { close() }
    }
    for workspace in queues {
      if payload.utf8.count > PeerNotifier.payloadBytes - 100 { close() }
      payload += " w\(workspace) q"
    }
    close()
    self = PeerNotifier()
    return payloads
  }

  /// What another gateway tells; nothing when it is this one.
  static func changes(in payload: String, as gateway: Identifier) -> [PeerChange] {
    let words = payload.split(separator: " ")
    guard let first = words.first, let sender = Identifier(String(first)), sender != gateway else {
      return []
    }
    var workspace: Identifier?
    var changes: [PeerChange] = []
    for word in words.dropFirst() {
      let id = Identifier(String(word.dropFirst()))
      switch (word.first, id, workspace) {
      case ("h", _, _): changes.append(.hello)
      case ("r", _, _): changes.append(.revocation)
      case ("*", _, _): changes.append(.everything)
      case ("w", let id?, _): workspace = id
      case ("s", let id?, _):
        changes.append(.session(SessionChange(session: id, workspace: workspace)))
      case ("q", _, let workspace?): changes.append(.queue(workspace: workspace))
      // A newer gateway may know more words.
      default: continue
      }
    }
    return changes
  }
}

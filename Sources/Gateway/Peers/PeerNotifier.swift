import Chat
import Engine
import Primitives

/// A change that another gateway has announced.
enum PeerChange: Equatable {
  case hello
  case everything
  case session(SessionChange)
  case queue(workspace: Identifier)
  case revocation
  /// See `SignalSeal`.
  case signals(sealed: String, from: Identifier)
  /// See `PeerMessage`.
  case connections(sealed: String, from: Identifier)
}

/// Changes of one loop that the other gateways have not been notified of, and their encoding as
/// payloads of NOTIFY. A notification only says which sessions to read from the database again.
///
/// Payload: words separated by spaces. The first one is the gateway's id. Then: `h`, the gateway
/// has just started; `*`, any session may have changed; `w` and a workspace's id, to which the
/// following words refer; `s` and a session's id, the session has changed; `q`, the workspace's
/// queue has changed; `e` and encrypted typing and presence; `c` and an encrypted question about
/// connections, or an answer. The database itself sends `r` with the zero id: something was
/// revoked.
struct PeerNotifier {
  /// Changed sessions that are listed; above it `*` is sent.
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

  /// Encodes all changes and removes them.
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
      // Sessions of an unknown workspace must not follow another workspace's `w`.
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

  /// Decodes a payload; empty if this gateway has sent it.
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
      case ("e", _, _):
        changes.append(.signals(sealed: String(word.dropFirst()), from: sender))
      case ("c", _, _):
        changes.append(.connections(sealed: String(word.dropFirst()), from: sender))
      case ("q", _, let workspace?): changes.append(.queue(workspace: workspace))
      // Newer gateways may send further words.
      default: continue
      }
    }
    return changes
  }
}

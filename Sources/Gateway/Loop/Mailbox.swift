import Chat
import Engine
import Kernel
import OpenSSL
import Postgres
import Primitives
import REST
import Synchronization

/// A message to a loop from another thread.
enum LoopMail: Sendable {
  case engine(Mail)
  /// A visitor's connection that belongs to this loop, with its socket and its TLS.
  case arrival(Departure, SocketTransfer)
  /// For new connections.
  case certificates(TLSContext)
  /// A step of an async function that runs on this loop.
  case step(UnownedJob)
  case query(Query, CheckedContinuation<Result<Rows, QueryFailure>, Never>)
  case append(AppendMail, CheckedContinuation<OutcomeMail, Never>)
  /// - Parameter began: when the request was complete.
  case response(socket: SocketID, APIResponse, began: Instant)
  /// The next bytes of a response with a stream; nil: its end.
  case responsePart(socket: SocketID, [UInt8]?, StreamReader)
  /// The body of the response before comes in pieces.
  case pieces(socket: SocketID, PieceHold, byteCount: Int64)
  /// The next piece; nil: there is none.
  case piece(socket: SocketID, [UInt8]?)
  /// A REST handler or a job on this loop has changed the session in the database.
  case changed(session: Identifier, workspace: Identifier?)
  /// From a REST handler on this loop, for the background jobs and for the other gateways.
  case happened(WorkspaceNews)
  /// A background job has changed the queue of a workspace: for the other gateways.
  case queueMoved(workspace: Identifier)
  /// For the background jobs of this gateway only.
  case news(WorkspaceNews)
  /// Other gateways may have changed any session.
  case catchUp
  case revocation(RevocationMail)
  case connections(ConnectionsMail)
  /// Keys of tokens that have ended, see `VerifiedToken.key`.
  case endedKeys([UInt32])
  /// The workspaces with bots, read by the first loop for all: see `Engine.listeners`.
  case listeners(Set<Identifier>)
  /// The origins of all workspaces, read by the first loop for all.
  case origins(Origins)
  /// Changed settings. The loop confirms that it uses them.
  case rules(LoopRules, Countdown)
  /// Drain and end within this time, see `Drain`.
  case drain(milliseconds: Int64)
  /// End now.
  case stop
}

/// The only way into a loop from another thread: a queue under a lock, and an eventfd.
///
/// A post of many items costs one lock and one signal. Messages within a loop need no lock; between
/// loops it is taken once for each pair of loops and turn.
final class Mailbox: Sendable {
  private let items = Mutex<[LoopMail]>([])
  private let counter: EventCounter

  init() throws(Errno) { counter = try EventCounter() }

  /// For epoll.
  var rawDescriptor: Int32 { counter.rawValue }

  func post(_ item: LoopMail) {
    let wasEmpty = items.withLock { items in
      items.append(item)
      return items.count == 1
    }
    if wasEmpty { counter.signal() }
  }

  /// Items that wait for one loop. Above it, recoverable mail is dropped: a subscriber reads missed
  /// entries from the database, and the rest is ephemeral.
  static let itemsMax = 65_536

  func post(_ mail: [Mail]) {
    let wasEmpty = items.withLock { items in
      let wasEmpty = items.isEmpty
      for item in mail where items.count < Mailbox.itemsMax || !item.isRecoverable {
        items.append(.engine(item))
      }
      return wasEmpty && !items.isEmpty
    }
    if wasEmpty { counter.signal() }
  }

  /// Takes all items, in order. `taken` must be empty; its storage is reused.
  func drain(into taken: inout [LoopMail]) {
    _ = counter.drain()
    var empty = consume taken
    empty.removeAll(keepingCapacity: true)
    taken = items.withLock { items in
      let all = items
      items = []
      return all
    }
    if taken.isEmpty { taken = empty }
  }
}

import Chat
import Engine
import Kernel
import OpenSSL
import Postgres
import Primitives
import REST
import Synchronization

/// What may be told to a loop from another thread.
enum LoopMail: Sendable {
  case engine(Mail)
  /// A visitor's connection that belongs to this loop, with its socket and its TLS.
  case arrival(Departure, SocketTransfer)
  /// For the connections that come from now on.
  case certificates(TLSContext)
  /// A step of an async function that runs on this loop.
  case step(UnownedJob)
  case query(Query, CheckedContinuation<Result<Rows, QueryFailure>, Never>)
  case append(AppendMail, CheckedContinuation<OutcomeMail, Never>)
  case response(socket: SocketID, APIResponse)
  /// Changed in the database by a REST handler or a job, which runs on this loop.
  case changed(session: Identifier)
  /// For the jobs, from a REST handler, which runs on this loop; and for the other gateways.
  case happened(WorkspaceNews)
  /// A job has moved the queue of a workspace: for the other gateways.
  case queueMoved(workspace: Identifier)
  /// For the jobs of this gateway alone.
  case news(WorkspaceNews)
  /// Other gateways may have changed anything.
  case catchUp
  /// Somebody was shut out.
  case revocation(RevocationMail)
  /// The workspaces with bots, as one loop has read them for all: see `Engine.listeners`.
  case listeners(Set<Identifier>)
  /// The origins of all workspaces, as one loop has read them for all.
  case origins(Origins)
  /// Stop accepting, ask the clients to come back elsewhere, and end within so many milliseconds.
  case drain(milliseconds: Int64)
  /// End now.
  case stop
}

/// The only way into a loop from another thread: a queue under a lock that is held for a swap, and
/// an eventfd.
///
/// A post of many items costs one lock and one signal. The lock is not on the path of a message
/// inside a loop; between loops it is taken once for each pair of loops and iteration.
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

  /// Mail that waits for one loop. Beyond it, recoverable mail is dropped: a follower that
  /// misses entries reads them from the database, and the rest is ephemeral.
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

  /// Everything that came, in order; `items` must be empty and keeps its storage for the next time.
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

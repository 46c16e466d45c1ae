import Engine
import Kernel
import OpenSSL
import Primitives
import Synchronization
import Wire

/// Who is at the other end, as far as is known; it goes with the connection from loop to loop.
struct Caller: Sendable {
  /// The client: a trusted proxy that names it was replaced by it.
  var peer: PeerAddress
  var place = Admission.Place()
  /// The page that opened the WebSocket, normalised; nil for a client that is no browser.
  var origin: String?
}

/// One accepted socket of a loop: first it speaks HTTP, then perhaps WebSocket.
struct ClientSocket: ~Copyable {
  enum Phase {
    /// A trusted proxy says first for whom it connects.
    case proxyHeader(ProxyHeader)
    /// TLS begins, see `receiveHello`: the ClientHello has not come whole.
    case hello(until: Instant)
    /// It is there and waits in the kernel for its turn.
    case helloQueued(until: Instant)
    /// Counted by `Admission` until it is over, see `endHandshake`.
    case handshake(until: Instant)
    case http
    /// Slot of the engine's connection.
    case webSocket(ConnectionIndex)
    /// Our side is shut; what the peer still sends is thrown away until it closes too. A socket
    /// closed with unread input would be reset, and the peer might never see our last words (RFC
    /// 9112 §9.6).
    case lingering(until: Instant)
  }

  var descriptor: FileDescriptor
  var caller: Caller
  var phase = Phase.http
  /// Nil for a plain socket, and before the ClientHello.
  var tls: TLSSession?
  /// Not of a WebSocket: of these there are many, and the exchange is half of a socket.
  private var http: HeapBox<HTTPExchange>
  /// What epoll was told to watch.
  var interest: Interest = .read
  /// The socket is of no further use: it is closed at the end of the iteration.
  var isDoomed = false
  /// Of a TLS listener, and there is no session yet: nothing in plain text goes out.
  var startsTLS = false
  /// Turned away by `Admission`: of these there are few at a time.
  var isRefused = false
  /// The peer has gone: there is nobody to linger for.
  var hasEnded = false

  init(descriptor: consuming FileDescriptor, caller: Caller, now: Instant) {
    self.descriptor = descriptor
    self.caller = caller
    http = HeapBox(HTTPExchange(openedAt: now))
  }

  /// Only of a socket that speaks HTTP, or may begin to.
  var exchange: HTTPExchange {
    _read { yield http.value }
    _modify { yield &http.value }
  }

  mutating func beginHTTP(_ now: Instant) { http.put(HTTPExchange(openedAt: now)) }

  mutating func endHTTP() { http.remove() }
}

/// A socket on its way to another loop: whoever takes it out owns it, and if nobody does, it is
/// closed with the parcel.
final class SocketParcel: Sendable {
  private let content: Mutex<ClientSocket?>

  init(_ socket: consuming sending ClientSocket) { content = Mutex(consume socket) }

  func take() -> ClientSocket? { content.withLock { $0.take() } }
}

import Kernel
import Primitives

/// One accepted socket of a loop: first it speaks HTTP, then perhaps WebSocket.
struct Link: ~Copyable {
  enum Phase {
    case http
    /// Slot of the engine's connection.
    case webSocket(Int)
    /// Our side is shut; what the peer still sends is thrown away until it closes too. A socket
    /// closed with unread input would be reset, and the peer might never see our last words (RFC
    /// 9112 §9.6).
    case lingering(until: Instant)
  }

  var descriptor: FileDescriptor
  var peer: PeerAddress
  var phase = Phase.http
  var exchange: HTTPExchange
  /// What epoll was told to watch.
  var interest: Interest = .read
  /// The socket is of no further use: it is closed at the end of the iteration.
  var isDoomed = false
  /// The peer has gone: there is nobody to linger for.
  var hasEnded = false

  init(descriptor: consuming FileDescriptor, peer: PeerAddress, now: Instant) {
    self.descriptor = descriptor
    self.peer = peer
    exchange = HTTPExchange(openedAt: now)
  }
}

extension Link {
  /// Gives the descriptor up without closing it, for the mail to another loop.
  consuming func release() -> Int32 { descriptor.release() }
}

import Engine
import Kernel
import OpenSSL
import Primitives
import Synchronization
import Wire

/// The other end of a connection. It moves with the connection from loop to loop.
struct Caller: Sendable {
  /// The client's address: that of the socket, or the one that a trusted proxy names.
  var peer: PeerAddress
  var permit = Admission.Permit()
  /// The normalised origin of the page that opened the WebSocket; nil for other clients.
  var origin: String?
}

/// One accepted socket of a loop. It speaks HTTP first, and WebSocket after an upgrade.
struct ClientSocket: ~Copyable {
  enum ProtocolPhase {
    /// Waits for the PROXY header of a trusted proxy.
    case proxyHeader(ProxyHeader)
    /// Waits for a complete ClientHello.
    case hello(until: Instant)
    /// Waits for a place among the handshakes. The ClientHello is in the kernel's buffer.
    case helloQueued(until: Instant)
    /// A TLS handshake. `Admission` counts it until `TLSDriver.endHandshake`.
    case handshake(until: Instant)
    case http
    case webSocket(ConnectionIndex)
    /// Our side is shut; input is discarded until the peer closes too. Closing a socket with unread
    /// input would reset it, and the peer might lose our last bytes (RFC 9112 §9.6).
    case lingering(until: Instant)
  }

  var descriptor: FileDescriptor
  var caller: Caller
  var phase = ProtocolPhase.http
  /// Nil for a plain socket, and before the ClientHello.
  var tls: TLSSession?
  /// Removed from WebSockets: there are many of them, and it is half of the size of a socket.
  private var http: HeapBox<HTTPExchange>
  /// The events that epoll reports.
  var interest: Interest = .read
  /// The socket is closed at the end of the turn.
  var isDoomed = false
  /// Accepted by a TLS listener and without a session yet: nothing may be sent in plain text.
  var startsTLS = false
  /// Accepted by the listener for metrics and probes.
  var isAdmin = false
  /// Refused by `Admission`; `Acceptor` bounds their number.
  var isRefused = false
  /// The peer has gone, so the socket does not linger.
  var hasEnded = false

  init(descriptor: consuming FileDescriptor, caller: Caller, now: Instant) {
    self.descriptor = descriptor
    self.caller = caller
    http = HeapBox(HTTPExchange(openedAt: now))
  }

  /// - Precondition: the socket is no WebSocket.
  var exchange: HTTPExchange {
    _read { yield http.value }
    _modify { yield &http.value }
  }

  mutating func beginHTTP(_ now: Instant) { http.put(HTTPExchange(openedAt: now)) }

  mutating func endHTTP() { http.remove() }
}

/// Carries a socket to another loop. `take` transfers its ownership; otherwise it is closed with
/// the transfer.
final class SocketTransfer: Sendable {
  private let content: Mutex<ClientSocket?>

  init(_ socket: consuming sending ClientSocket) { content = Mutex(consume socket) }

  func take() -> ClientSocket? { content.withLock { $0.take() } }
}

/// Sending through a socket, plain or sealed by TLS. For a plain socket it costs the system call
/// and one comparison.
extension ClientSocket {
  /// Whether the socket has a TLS session: it speaks TLS and its handshake has begun.
  var isSecure: Bool {
    switch tls {
    case .some: true
    case .none: false
    }
  }

  /// Whether sealed bytes wait to be sent.
  var hasUnsent: Bool {
    switch tls {
    case .some(let session): session.hasUnsent
    case .none: false
    }
  }

  /// Sends as much as the socket accepts.
  ///
  /// - Returns: the number of plain bytes that were taken. Sealed bytes not sent yet belong
  ///   to the socket (`hasUnsent`) and are sent before any others.
  mutating func send(_ bytes: RawSpan, _ workspace: TLSWorkspace) -> WriteOutcome {
    guard isSecure else { return descriptor.send(bytes) }
    if hasUnsent {
      switch flushUnsent() {
      case .bytes: if hasUnsent { return .wouldBlock }
      case let other: return other
      }
    }
    var taken = 0
    while taken < bytes.byteCount {
      guard let count = tls?.seal(bytes, from: taken, workspace) else { return .reset }
      taken += count
      let outcome = workspace.withSealed { descriptor.send($0) }
      switch outcome {
      case .bytes(let sent) where sent == workspace.sealedByteCount: continue
      case .bytes(let sent): tls?.keepSealed(from: sent, workspace)
      case .wouldBlock: tls?.keepSealed(from: 0, workspace)
      case .reset, .failed: return outcome
      }
      break
    }
    return .bytes(taken)
  }

  /// Sends sealed bytes.
  ///
  /// - Returns: `.bytes`, also if some are left, or why the socket failed.
  mutating func flushUnsent() -> WriteOutcome {
    guard let outcome = tls?.withUnsent({ $0.isEmpty ? .bytes(0) : descriptor.send($0) }) else {
      return .bytes(0)
    }
    if case .bytes(let count) = outcome { tls?.sent(count) }
    return outcome == .wouldBlock ? .bytes(0) : outcome
  }
}

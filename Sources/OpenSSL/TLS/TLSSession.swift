/// One TLS connection as a value with one owner: received bytes go in; plaintext and bytes to send
/// come out. It knows no descriptor, so that the loop reads and writes all sockets in the same way,
/// and it never blocks: a read may produce bytes to send, but a write never needs a read, so
/// neither can stall the other.
import COpenSSL
import Primitives

/// The processed part of a loop's receive buffer.
public struct TLSCursor {
  public var next: Int
  public let end: Int

  public init(next: Int, end: Int) {
    precondition(next >= 0 && next <= end, "the cursor is outside its bytes")
    self.next = next
    self.end = end
  }
}

/// The result of processing received bytes.
public enum TLSStep: Equatable, Sendable {
  /// Plaintext in this range of the buffer. Call again for the following bytes.
  case plain(Range<Int>)
  /// The handshake is complete. Call again for the following bytes.
  case established
  /// All bytes were consumed.
  case needMoreBytes
  /// The peer has sent close_notify.
  case closed
  /// The connection has failed; the unsent bytes may contain an alert for the peer.
  case failed(TLSFault)
}

/// Contexts and buffers that a loop's connections share, so that an idle one needs none.
public final class TLSWorkspace {
  let channel = TLSChannel()
  let aead = TLSAEAD()

  public init() {}

  /// Lends the bytes of the last `seal`, for the socket.
  public func withSealed<Result>(_ body: (RawSpan) -> Result) -> Result {
    channel.output.withRawSpan(body)
  }

  public var sealedByteCount: Int { channel.output.count }
}

public struct TLSSession: ~Copyable, @unchecked Sendable {
  // SAFETY: of sendability: this value is the only owner of the core, and neither the core nor
  // OpenSSL's objects depend on a thread.
  private let core: TLSCore

  /// The minimum size of a receive buffer in bytes.
  public static let bufferBytesMin = 3 * TLSRecords.recordBytesMax
  /// The most plaintext bytes per call of `seal`.
  public static let sealBytesMax = 4 * TLSRecords.contentBytesMax

  /// The server's side of a new connection.
  public init(server context: TLSContext) { core = TLSCore(context, isServer: true) }

  /// The client's side. Its first bytes are unsent at once; `name` is the name or address that the
  /// server's certificate must contain.
  public init(
    client context: TLSContext, name: String, resuming ticket: TLSResumption? = nil,
    _ workspace: TLSWorkspace
  ) {
    core = TLSCore(context, isServer: false)
    core.start(name: name, ticket, workspace)
  }

  public var isEstablished: Bool { core.stage == .library || core.stage == .records }
  /// Whether only keys are kept, without OpenSSL's object, see `TLSRecords`.
  public var isCompact: Bool { core.stage == .records }
  public var version: TLSVersion? { core.version }
  /// For a client: whether the server accepted its ticket instead of a full handshake.
  public var isResumed: Bool { core.isResumed }
  /// For a client: the session to resume, if the server has sent a ticket.
  public func resumption() -> TLSResumption? { core.resumption() }

  /// Copies the held bytes of an incomplete record to the front. The socket's next bytes belong at
  /// `fill`; the cursor over all of them begins at `start`.
  public func prepare(_ buffer: inout MutableRawSpan) -> (start: Int, fill: Int) {
    precondition(
      buffer.byteCount >= TLSSession.bufferBytesMin, "the buffer must hold three records")
    return unsafe buffer.withUnsafeMutableBytes { unsafe core.prepare($0) }
  }

  /// Processes the bytes of the cursor up to the next result.
  public func open(
    _ buffer: inout MutableRawSpan, _ cursor: inout TLSCursor, _ workspace: TLSWorkspace
  ) -> TLSStep {
    precondition(cursor.end <= buffer.byteCount, "the cursor ends outside the buffer")
    return unsafe buffer.withUnsafeMutableBytes { unsafe core.open($0, &cursor, workspace) }
  }

  /// Seals bytes from `offset` on, at most `sealBytesMax`, into the workspace, and returns their
  /// number; nil if the connection is closed. Precondition: no bytes are unsent.
  public func seal(_ plain: RawSpan, from offset: Int, _ workspace: TLSWorkspace) -> Int? {
    unsafe plain.withUnsafeBytes { bytes in
      unsafe core.seal(UnsafeRawBufferPointer(rebasing: bytes[offset...]), workspace)
    }
  }

  /// Overwrites the keys in the workspace: the connection was closed, or moves to another loop.
  public func forget(_ workspace: TLSWorkspace) { core.forget(workspace) }

  /// Adds a close_notify to the unsent bytes, without waiting for the peer's.
  public func close(_ workspace: TLSWorkspace) { core.close(workspace) }

  // MARK: Unsent bytes

  public var hasUnsent: Bool { !core.unsent.isEmpty }
  public var unsentByteCount: Int { core.unsent.count }

  public func withUnsent<Result>(_ body: (RawSpan) -> Result) -> Result {
    core.unsent.withRawSpan(body)
  }

  /// The socket accepted this many of the unsent bytes.
  public func sent(_ count: Int) {
    if count == core.unsent.count { core.unsent = [] } else { core.unsent.removeFirst(count) }
  }

  /// The socket accepted only the sealed bytes before `offset`: the rest must be sent first.
  public func keepSealed(from offset: Int, _ workspace: TLSWorkspace) {
    core.unsent += workspace.channel.output[offset...]
  }

  /// Requests new keys from the peer: for tests.
  public func requestKeyUpdate(_ workspace: TLSWorkspace) { core.requestKeyUpdate(workspace) }
}

/// A client's session for the next connection to the same server.
@safe public final class TLSResumption {
  let session: OpaquePointer

  init(owning session: OpaquePointer) { unsafe self.session = session }

  // SAFETY: the reference is owned here.
  deinit { unsafe SSL_SESSION_free(session) }
}

public enum TLSVersion: Sendable { case v12, v13 }

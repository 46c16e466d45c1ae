/// One TLS connection as a value with one owner: bytes of the socket go in, plaintext and bytes for
/// the socket come out. It knows no descriptor, so that the loop reads and writes every socket in
/// the same way, and it never waits: a read may produce bytes to write and a write never needs a
/// read, so neither can stall on the other.
import COpenSSL
import Primitives

/// What is processed of a loop's receive buffer.
public struct TLSCursor {
  public var next: Int
  public let end: Int

  public init(next: Int, end: Int) {
    precondition(next >= 0 && next <= end, "a cursor stands within its bytes")
    self.next = next
    self.end = end
  }
}

/// What became of the next bytes.
public enum TLSStep: Equatable, Sendable {
  /// Plaintext, at this place of the buffer. Call again for what follows.
  case plain(Range<Int>)
  /// The handshake is complete. Call again for what follows.
  case established
  /// Everything has been taken.
  case needMoreBytes
  /// The peer has said close_notify.
  case closed
  /// The connection is over; an alert for the peer may be among the unsent bytes.
  case failed(TLSFault)
}

/// What one loop's connections share: contexts and buffers that an idle one does not need.
public final class TLSWorkspace {
  let channel = TLSChannel()
  let aead = TLSAEAD()

  public init() {}

  /// Sealed bytes of the last `seal`, for the socket.
  public func withSealed<Result>(_ body: (RawSpan) -> Result) -> Result {
    channel.output.withRawSpan(body)
  }

  public var sealedByteCount: Int { channel.output.count }
}

public struct TLSSession: ~Copyable, @unchecked Sendable {
  // SAFETY: of the type's sendability: the core is named by this value alone, which has one owner,
  // and neither it nor OpenSSL's objects depend on the thread that made them.
  private let core: TLSCore

  /// Bytes that a receive buffer must have.
  public static let bufferBytesMin = 3 * TLSRecords.recordBytesMax
  /// Plaintext that is sealed in one call.
  public static let sealBytesMax = 4 * TLSRecords.contentBytesMax

  /// The server's end of a new connection.
  public init(server context: TLSContext) { core = TLSCore(context, isServer: true) }

  /// The client's end. The first bytes are unsent at once; `name` is the server's name or address
  /// as its certificate has it.
  public init(
    client context: TLSContext, name: String, resuming ticket: TLSResumption? = nil,
    _ workspace: TLSWorkspace
  ) {
    core = TLSCore(context, isServer: false)
    core.start(name: name, ticket, workspace)
  }

  public var isEstablished: Bool { core.stage == .library || core.stage == .records }
  /// OpenSSL's object is gone and only keys are kept, see `TLSRecords`.
  public var isCompact: Bool { core.stage == .records }
  public var version: TLSVersion? { core.version }
  /// The client's: whether the server took its ticket instead of a full handshake.
  public var isResumed: Bool { core.isResumed }
  /// The client's: what the next connection may resume, if the server has sent a ticket.
  public func resumption() -> TLSResumption? { core.resumption() }

  /// Puts what is held of an incomplete record in front. The socket's next bytes belong at `fill`,
  /// and the cursor over all of them begins at `start`.
  public func prepare(_ buffer: inout MutableRawSpan) -> (start: Int, fill: Int) {
    precondition(buffer.byteCount >= TLSSession.bufferBytesMin, "the buffer holds three records")
    return unsafe buffer.withUnsafeMutableBytes { unsafe core.prepare($0) }
  }

  /// Takes the next step in the bytes of the cursor.
  public func open(
    _ buffer: inout MutableRawSpan, _ cursor: inout TLSCursor, _ workspace: TLSWorkspace
  ) -> TLSStep {
    precondition(cursor.end <= buffer.byteCount, "the cursor ends within the buffer")
    return unsafe buffer.withUnsafeMutableBytes { unsafe core.open($0, &cursor, workspace) }
  }

  /// Seals bytes from `offset` on, `sealBytesMax` at most, into the workspace's sealed bytes, and
  /// returns how many; nil if the connection is over. What is unsent must be sent before.
  public func seal(_ plain: RawSpan, from offset: Int, _ workspace: TLSWorkspace) -> Int? {
    unsafe plain.withUnsafeBytes { bytes in
      unsafe core.seal(UnsafeRawBufferPointer(rebasing: bytes[offset...]), workspace)
    }
  }

  /// Overwrites what the workspace keeps of the keys: the connection is over, or moves to another
  /// loop.
  public func forget(_ workspace: TLSWorkspace) { core.forget(workspace) }

  /// Says close_notify, without waiting for the peer's: it is among the unsent bytes.
  public func close(_ workspace: TLSWorkspace) { core.close(workspace) }

  // MARK: Bytes that the socket has not taken

  public var hasUnsent: Bool { !core.unsent.isEmpty }
  public var unsentByteCount: Int { core.unsent.count }

  public func withUnsent<Result>(_ body: (RawSpan) -> Result) -> Result {
    core.unsent.withRawSpan(body)
  }

  /// The socket took so many of the unsent bytes.
  public func sent(_ count: Int) {
    if count == core.unsent.count { core.unsent = [] } else { core.unsent.removeFirst(count) }
  }

  /// The socket took only so many of the sealed bytes: the rest is sent before anything else.
  public func keepSealed(from offset: Int, _ workspace: TLSWorkspace) {
    core.unsent += workspace.channel.output[offset...]
  }

  /// Asks the peer for new keys: for tests.
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
